import { MongoClient, type Db } from "mongodb";
import { indexOf, isTargeted } from "./served-by.js";
import { shapesOf, textOf } from "./shape.js";

/** What of this process's commands the table does not serve. */
const unserved = new Set<string>();
const heard = new WeakSet<MongoClient>();
const dbOf = Reflect.get(MongoClient.prototype, "db") as (this: MongoClient, ...args: readonly unknown[]) => Db;

/** Listens to every connection of the adapter from now on; those of tests and scripts have other names. */
export function recordShapes(): void {
  MongoClient.prototype.db = function (this: MongoClient, ...args) {
    if (!heard.has(this) && this.options.appName === "onym") {
      heard.add(this);
      (this as unknown as { monitorCommands: boolean }).monitorCommands = true;
      this.on("commandStarted", ({ command }) => {
        for (const shape of shapesOf(command))
          if (indexOf(shape) === undefined) unserved.add(`no index: ${textOf(shape)}`);
          // A cluster refuses to change one document that it would have to look for on all shards.
          else if (shape.isWrite && !isTargeted(shape)) unserved.add(`no shard key: ${textOf(shape)}`);
      });
    }
    return dbOf.apply(this, args);
  };
}

/** Throws when the adapter sent a query that no row of the table serves. */
export function requireServed(): void {
  const texts = [...unserved].toSorted();
  unserved.clear();
  if (texts.length > 0)
    throw new Error(`What was asked of MongoDB is not in test/support/mongo-shapes/served-by.ts:\n${texts.join("\n")}`);
}

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { AreaField, Button, SelectField, TextField } from "../../../ui/kit.js";
import {
  fit,
  JOINS,
  kindOf,
  newEvents,
  newField,
  newGroup,
  newReference,
  type Group,
  type Join,
  type Part,
} from "../rule/model.js";
import { EventsFields } from "./events.js";
import { TestFields } from "./tests.js";
import type { Vocabulary } from "./vocabulary.js";

export interface BuilderProps {
  readonly vocabulary: Vocabulary;
  /** What is wrong with a part, by its id. */
  readonly wrongs: ReadonlyMap<number, readonly string[]>;
  /** Whether all of that is only what is missing still: where nobody has been yet, that is no mistake. */
  readonly isUnfinished: boolean;
}

/** Parts that a person added just now: their first field takes the focus. */
const fresh = new Set<number>();
const added = <One extends Part>(part: One): One => {
  fresh.add(part.id);
  return part;
};

const DEPTH_MAX = 5;

/** Conditions of which all, one or none must hold; a group can stand in a group. */
export function GroupFields({
  group,
  depth = 0,
  onChange,
  ...rest
}: BuilderProps & {
  readonly group: Group;
  readonly depth?: number;
  readonly onChange: (group: Group) => void;
}): JSX.Element {
  const { join, parts } = group;
  const box = useRef<HTMLDivElement>(null);
  const set = (next: readonly Part[]): void => onChange({ ...group, parts: next });
  // The condition that stands there at first is no condition yet: something else takes its place.
  const add = (part: Part): void =>
    set([...(part.kind !== "field" && parts.length === 1 ? parts.filter((one) => !isBlank(one)) : parts), added(part)]);
  const remove = (part: Part): void => {
    set(parts.filter(({ id }) => id !== part.id));
    box.current?.querySelector<HTMLElement>(":scope > .group-foot button")?.focus();
  };
  return (
    <div ref={box} class={`group${depth > 0 ? " inner" : ""}`} role="group" aria-label={nameOf(join)}>
      <div class="group-head">
        <SelectField
          label="How they are joined"
          isLabelHidden
          value={join}
          options={JOINS}
          onChange={(next) => onChange({ ...group, join: next as Join })}
        />
      </div>
      {parts.length > 0 && (
        <ul class="parts">
          {parts.map((part) => (
            <PartFields
              key={part.id}
              part={part}
              depth={depth}
              onChange={(next) => set(parts.map((one) => (one.id === part.id ? next : one)))}
              onRemove={() => remove(part)}
              {...rest}
            />
          ))}
        </ul>
      )}
      <div class="row group-foot">
        <Button isSmall icon="add" onClick={() => add(newField())}>
          Condition
        </Button>
        <Button isSmall icon="add" onClick={() => add(newEvents())}>
          Event
        </Button>
        <Button isSmall icon="add" onClick={() => add(newReference())}>
          Audience
        </Button>
        {depth < DEPTH_MAX && (
          <Button isSmall icon="add" onClick={() => add(newGroup("any", [newField()]))}>
            Group
          </Button>
        )}
      </div>
    </div>
  );
}

/** A condition in which nobody wrote anything. */
const isBlank = (part: Part): boolean => {
  if (part.kind !== "field" || part.field !== "") return false;
  const { op, value } = part.test;
  return op === "$eq" && value.as === "text" && value.text === "";
};
const nameOf = (join: Join): string => JOINS.find(([one]) => one === join)![1];
const NAMES = {
  field: "this condition",
  events: "these events",
  audience: "this audience",
  group: "this group",
  json: "this JSON",
} as const;

function PartFields({
  part,
  depth,
  onChange,
  onRemove,
  ...rest
}: BuilderProps & {
  readonly part: Part;
  readonly depth: number;
  readonly onChange: (part: Part) => void;
  readonly onRemove: () => void;
}): JSX.Element {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (fresh.delete(part.id)) row.current?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  }, []);
  const [isTouched, setTouched] = useState(false);
  const touch = (): void => setTouched(true);
  const wrongs = rest.wrongs.get(part.id) ?? [];
  const isRed = wrongs.length > 0 && (isTouched || !rest.isUnfinished);
  return (
    <li ref={row} class={`part${isRed ? " wrong" : ""}`} onInput={touch} onFocusOut={touch}>
      <div class="part-fields">
        {part.kind === "group" ? (
          <GroupFields group={part} depth={depth + 1} onChange={onChange} {...rest} />
        ) : (
          <Fields part={part} onChange={onChange} {...rest} />
        )}
        {wrongs.map((text) => (
          <p key={text} class={`part-wrong small${isRed ? "" : " soft"}`}>
            {text}
          </p>
        ))}
      </div>
      <Button kind="quiet" isSmall icon="close" label={`Remove ${NAMES[part.kind]}`} onClick={onRemove} />
    </li>
  );
}

function Fields({
  part,
  vocabulary,
  onChange,
}: BuilderProps & {
  readonly part: Exclude<Part, Group>;
  readonly onChange: (part: Part) => void;
}): JSX.Element {
  switch (part.kind) {
    case "field": {
      const setField = (field: string): void => onChange({ ...part, field, test: fit(part.test, kindOf(field)) });
      return (
        <div class="part-line">
          <TextField
            label="Field"
            isLabelHidden
            value={part.field}
            placeholder="traits.city"
            list={vocabulary.fields}
            onInput={setField}
            onLeave={() => {
              // The bare name of a trait is meant as the trait.
              const trait = `traits.${part.field.trim()}`;
              if (!vocabulary.fields.includes(part.field) && vocabulary.fields.includes(trait)) setField(trait);
            }}
          />
          <TestFields test={part.test} kind={kindOf(part.field)} onChange={(test) => onChange({ ...part, test })} />
        </div>
      );
    }
    case "events":
      return <EventsFields part={part} vocabulary={vocabulary} onChange={onChange} />;
    case "audience":
      return (
        <div class="part-line">
          <span class="soft">is in the audience</span>
          <SelectField
            label="Audience"
            isLabelHidden
            value={part.audienceId}
            options={[
              ["", "choose one"],
              ...vocabulary.audiences.map(({ audience_id: id, name }) => [id, name] as const),
            ]}
            onChange={(audienceId) => onChange({ ...part, audienceId })}
          />
        </div>
      );
    case "json":
    default:
      return (
        <AreaField
          label="A part as JSON"
          isCode
          rows={Math.min(8, part.text.split("\n").length)}
          value={part.text}
          onInput={(text) => onChange({ ...part, text })}
        />
      );
  }
}

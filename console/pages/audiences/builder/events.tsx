import type { JSX } from "preact";
import { Button, SelectField, TextField } from "../../../ui/kit.js";
import { newWhere, type EventsPart, type Where } from "../rule/model.js";
import { SpanFields, TestFields } from "./tests.js";
import type { Vocabulary } from "./vocabulary.js";

/** At least so many events, or the sum over them. */
export function EventsFields({
  part,
  vocabulary,
  onChange,
}: {
  readonly part: EventsPart;
  readonly vocabulary: Vocabulary;
  readonly onChange: (part: EventsPart) => void;
}): JSX.Element {
  const { schemaId, where, measure, within } = part;
  const schema = vocabulary.schemas.find(({ id }) => id === schemaId);
  const set = (change: Partial<EventsPart>): void => onChange({ ...part, ...change });
  const setWhere = (of: Where, next: Where): void =>
    set({ where: where.map((one) => (one.id === of.id ? next : one)) });
  const known = vocabulary.schemas.map(({ id }) => [id, `events of ${id}`] as const);
  return (
    <div class="events-part">
      <div class="part-line">
        <SelectField
          label="What of the events"
          isLabelHidden
          value={measure}
          options={[
            ["count", "at least"],
            ["sum", "the sum of"],
          ]}
          onChange={(next) => set({ measure: next as EventsPart["measure"] })}
        />
        {measure === "count" ? (
          <span class="short">
            <TextField
              label="At least how many events"
              isLabelHidden
              type="number"
              min={1}
              max={100}
              value={part.atLeast}
              onInput={(atLeast) => set({ atLeast })}
            />
          </span>
        ) : (
          <>
            <TextField
              label="The number to add up"
              isLabelHidden
              value={part.sum}
              placeholder="total"
              list={schema?.numbers ?? []}
              onInput={(sum) => set({ sum })}
            />
            <TestFields test={part.is} kind="sum" onChange={(is) => set({ is })} />
          </>
        )}
      </div>
      <div class="part-line">
        <SelectField
          label="Of the schema"
          isLabelHidden
          value={schemaId}
          options={[
            ["", "events of any schema"],
            ...known,
            ...(schemaId !== "" && schema === undefined ? [[schemaId, `events of ${schemaId}`] as const] : []),
          ]}
          onChange={(next) => set({ schemaId: next })}
        />
        <SelectField
          label="When"
          isLabelHidden
          value={within === null ? "ever" : "within"}
          options={[
            ["within", "in the last"],
            ["ever", "ever"],
          ]}
          onChange={(next) => set({ within: next === "ever" ? null : { n: "30", unit: "d" } })}
        />
        {within !== null && (
          <span class="span-fields">
            <SpanFields span={within} onChange={(next) => set({ within: next })} />
          </span>
        )}
      </div>
      {where.map((one) => (
        <div key={one.id} class="part-line where">
          <span class="soft">where</span>
          <TextField
            label="Field of the event"
            isLabelHidden
            value={one.path}
            placeholder="items.sku"
            list={schema?.paths ?? []}
            onInput={(path) => setWhere(one, { ...one, path })}
          />
          <TestFields test={one.test} kind="payload" onChange={(test) => setWhere(one, { ...one, test })} />
          <Button
            kind="quiet"
            isSmall
            icon="close"
            label={`Remove the test of ${one.path === "" ? "the event" : one.path}`}
            onClick={() => set({ where: where.filter(({ id }) => id !== one.id) })}
          />
        </div>
      ))}
      {schemaId !== "" && (
        <div>
          <Button isSmall kind="quiet" icon="add" onClick={() => set({ where: [...where, newWhere()] })}>
            Test what the events hold
          </Button>
        </div>
      )}
    </div>
  );
}

import type { JSX } from "preact";
import { useQuery } from "../../../api/hooks.js";
import type { PageProps } from "../../../state/pages.js";
import { useMay } from "../../../state/session.js";
import {
  Card,
  ExactTime,
  Facts,
  Id,
  KeyId,
  LinkButton,
  Loaded,
  Missing,
  PageFrame,
  showNumber,
  Table,
} from "../../../ui/kit.js";
import { ChangeLink, OutcomeBadge, OUTCOMES, ProfileLink, RULES, Source } from "../parts/evidence.js";
import type { Change, ChangedIdentifier, Dropped, Outcome } from "../parts/records.js";
import { Name, Pair } from "../parts/text.js";
import { UndoneBy } from "../parts/undone.js";
import { hrefOfUndo } from "../undo/request.js";
import { hrefOfWhy } from "../why.js";

/** Those that linked something: of the others nobody asks why. */
const LINKING = new Set<Outcome>(["created", "linked", "merged", "partial", "unchanged"]);
/** Those that linked or unlinked something. */
const UNDOABLE = new Set<Outcome>(["created", "linked", "merged", "partial", "unlinked", "reverted"]);

export function Page({ params }: PageProps): JSX.Element {
  const id = params["id"]!;
  const change = useQuery<Change>(`/v1/changes/${encodeURIComponent(id)}`);
  const mayUndo = useMay("admin");
  const { data } = change;
  const [one, other] = data?.identifiers ?? [];
  return (
    <PageFrame
      title={data === null ? "Change" : `Change: ${data.outcome}`}
      back={["#/changes", "All changes"]}
      intro={<Id id={id} what="the change id" isWhole />}
      actions={
        data !== null && (
          <>
            {LINKING.has(data.outcome) && isWhole(one) && isWhole(other) && (
              <LinkButton icon="why" href={hrefOfWhy(one, other)}>
                Why one person?
              </LinkButton>
            )}
            {mayUndo && UNDOABLE.has(data.outcome) && (
              <LinkButton icon="undo" href={hrefOfUndo({ kind: "change", id })}>
                Undo…
              </LinkButton>
            )}
          </>
        )
      }
    >
      <Loaded
        {...change}
        lines={12}
        missing={
          <Missing what="change" icon="changes" back={["#/changes", "All changes"]}>
            No change of this workspace has this id. The id in an address must be whole.
          </Missing>
        }
      >
        {(read) => <Shown of={read} />}
      </Loaded>
    </PageFrame>
  );
}

const isWhole = (one: ChangedIdentifier | undefined): one is Extract<ChangedIdentifier, { value: string }> =>
  one !== undefined && "value" in one;

/** A record names no more profiles, however many an undo made. */
const NAMED_MAX = 1_000;

const Profiles = ({ ids }: { readonly ids: readonly string[] }): JSX.Element =>
  ids.length === 0 ? (
    <span class="soft">none</span>
  ) : (
    <span class="stack-tight">
      {ids.map((id) => (
        <ProfileLink key={id} id={id} />
      ))}
      {ids.length >= NAMED_MAX && (
        <span class="soft">A record names the first {showNumber(NAMED_MAX)}. There may be more.</span>
      )}
    </span>
  );

const Shown = ({ of }: { readonly of: Change }): JSX.Element => (
  <>
    <Card title="What happened" note="For later changes, see the pages of these profiles.">
      <Facts
        facts={[
          [
            "Outcome",
            <span key="o" class="row">
              <OutcomeBadge outcome={of.outcome} /> <span class="sentence">{OUTCOMES[of.outcome].means}.</span>
            </span>,
          ],
          ...(of.rule === undefined ? [] : [["Rule", RULES[of.rule]] as const]),
          ...(of.forbid === undefined
            ? []
            : [
                [
                  "Pair",
                  <span key="p">
                    Forbidden: the two cannot be merged until you allow it again in{" "}
                    <a href="#/forbidden-pairs">Forbidden pairs</a>.
                  </span>,
                ] as const,
              ]),
          ...(of.reverts === undefined ? [] : [["Undoes", <ChangeLink key="c" id={of.reverts} />] as const]),
          ...(UNDOABLE.has(of.outcome) ? [["Undone by", <UndoneBy key="u" id={of.change_id} />] as const] : []),
          ["When", <ExactTime key="t" at={of.at} />],
          ["Source", <Source key="s" of={of} />],
          ["Key", <KeyId key="k" id={of.key_id} />],
          ["Profiles before", <Profiles key="b" ids={of.before} />],
          ["Profiles after", <Profiles key="a" ids={of.after} />],
        ]}
      />
    </Card>
    <Card title="Identifiers" isFlush>
      <Table
        label="Identifiers"
        rows={of.identifiers.map((one, i) => ({ one, i }))}
        keyOf={({ i }) => String(i)}
        columns={[{ name: "Identifier", fit: "wide", show: ({ one }) => <Name of={one} isCopied /> }]}
      />
    </Card>
    {of.dropped.length > 0 && (
      <Card title="Left out" isFlush>
        <Table
          label="Left out"
          rows={of.dropped.map((one, i) => ({ one, i }))}
          keyOf={({ i }) => String(i)}
          columns={[
            { name: "What", fit: "wide", show: ({ one }) => <Left of={one} /> },
            { name: "Why", show: ({ one }) => RULES[one.rule] },
          ]}
        />
      </Card>
    )}
  </>
);

const Left = ({ of }: { readonly of: Dropped }): JSX.Element =>
  "identifier" in of ? <Name of={of.identifier} isCopied /> : <Pair from={of.from} to={of.to} />;

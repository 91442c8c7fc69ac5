import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { usePages, type Pages } from "../../../api/hooks.js";
import { api } from "../../../api/http.js";
import { useMay } from "../../../state/session.js";
import {
  BothTimes,
  Button,
  Card,
  Confirm,
  Empty,
  LinkButton,
  notify,
  PagedTable,
  PageFrame,
  TextField,
} from "../../../ui/kit.js";
import { orNull } from "../find.js";
import { ChangeLink } from "../parts/evidence.js";
import type { ForbiddenPair } from "../parts/records.js";
import { Pair } from "../parts/text.js";

/** Fewer are seen at a glance. */
const SEARCHED_MIN = 10;

const names = ({ from, to }: ForbiddenPair, wanted: string): boolean =>
  [from, to].some(({ namespace, value }) => `${namespace} ${value}`.toLowerCase().includes(wanted));

/** The service gives them by their ids, which say nothing: once all are here, the newest stand first. To search them, all are read. */
function usePairs(wanted: string): Pages<ForbiddenPair> & { readonly isWhole: boolean } {
  const pages = usePages<ForbiddenPair>("/v1/identity/forbidden-pairs?limit=100", "forbidden_pairs");
  const { items, more, error, isLoading } = pages;
  useEffect(() => {
    if (wanted !== "" && !isLoading && error === null) more?.();
  }, [wanted, items, isLoading]);
  const isWhole = items === null || more === null;
  const found = items?.filter((pair) => names(pair, wanted)) ?? null;
  return {
    ...pages,
    items: isWhole ? (found?.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at)) ?? null) : found,
    isWhole,
  };
}

export function Page(): JSX.Element {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const pages = usePairs(wanted);
  const isSearched = wanted !== "" || pages.more !== null || (pages.items?.length ?? 0) > SEARCHED_MIN;
  const [allowed, setAllowed] = useState<ForbiddenPair | null>(null);
  const mayAllow = useMay("admin");
  return (
    <PageFrame
      title="Forbidden pairs"
      intro={`Two identifiers that may not be in one profile, either directly or through others. ${pages.isWhole ? "Newest first." : "Not all are shown yet, and these are in no order."}`}
      actions={
        mayAllow && (
          <LinkButton icon="add" href="#/undo?what=pair&forbid=true">
            Forbid a pair
          </LinkButton>
        )
      }
    >
      {isSearched && (
        <div class="toolbar">
          <TextField
            label="Identifier"
            type="search"
            value={text}
            onInput={setText}
            placeholder="a value, or its beginning"
          />
        </div>
      )}
      <Card isFlush>
        <PagedTable
          label="Forbidden pairs"
          pages={pages}
          keyOf={({ forbidden_pair_id: id }) => id}
          empty={
            wanted === "" ? (
              <Empty icon="forbidden" title="No pair is forbidden">
                When two people were taken for one, unlink them and forbid the pair, so that it does not happen again.
                {mayAllow
                  ? "Use “Forbid a pair”, or forbid it together with the undo."
                  : "An admin can do that in Undo."}
              </Empty>
            ) : (
              <Empty
                icon="forbidden"
                title={pages.isWhole ? "No pair names it" : "None of those that were read names it"}
              >
                Look for a part of a value or a namespace, as it is stored.
              </Empty>
            )
          }
          columns={[
            { name: "Pair", fit: "wide", show: ({ from, to }) => <Pair from={from} to={to} /> },
            { name: "Change", show: ({ change_id: id }) => <ChangeLink id={id} /> },
            { name: "When", show: ({ at }) => <BothTimes at={at} /> },
            ...(mayAllow
              ? [
                  {
                    name: "Actions",
                    isNameless: true,
                    fit: "end" as const,
                    show: (pair: ForbiddenPair) => (
                      <Button isSmall onClick={() => setAllowed(pair)}>
                        Allow…
                      </Button>
                    ),
                  },
                ]
              : []),
          ]}
        />
      </Card>
      {allowed !== null && (
        <Confirm
          title="Allow this pair again?"
          verb="Allow the pair"
          onClose={() => setAllowed(null)}
          act={async () => {
            const done = await orNull(api("DELETE", `/v1/identity/forbidden-pairs/${allowed.forbidden_pair_id}`));
            if (done === null) notify("This pair was allowed already, in another tab or by somebody else.", "bad");
            else notify("The pair is allowed. It is not linked again before somebody says so.");
            pages.reload();
          }}
        >
          <Pair from={allowed.from} to={allowed.to} />
          <p>Events that name both will link them again. Links that were refused meanwhile are not added.</p>
        </Confirm>
      )}
    </PageFrame>
  );
}

import type { FunctionComponent, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { GROUPS } from "../pages/all.js";
import type { PageEntry, PageProps } from "../state/pages.js";
import { returns, wentAway } from "../state/connection.js";
import { marked, match, useLocation } from "../state/router.js";
import { atLeast, logOut, useMe } from "../state/session.js";
import { useStore } from "../state/store.js";
import { whenFree } from "../state/unsaved.js";
import { Bones, Button, Card, Empty, Failure, LinkButton, notify, PageFrame } from "../ui/kit.js";
import { Icon, Logo } from "../ui/icons.js";
import { Leave } from "./leave.js";
import { ThemeButton } from "./theme-button.js";

const PAGES: readonly PageEntry[] = GROUPS.flatMap(({ pages }) => pages);

function find(path: string): { readonly entry: PageEntry; readonly params: PageProps["params"] } | null {
  for (const entry of PAGES) {
    const params = match(entry.path, path);
    if (params !== null) return { entry, params };
  }
  return null;
}

const DRAWN_MS = 5_000;

/** To where one was before a step away, as soon as so much is drawn again. Whoever moves meanwhile stays where they go. */
function scrollBack(top: number): () => void {
  const end = new AbortController();
  const { signal } = end;
  const stop = (): void => end.abort();
  for (const moved of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(moved, stop, { signal });
  const until = performance.now() + DRAWN_MS;
  const move = (): void => {
    if (signal.aborted) return;
    scrollTo(0, top);
    if (scrollY < top - 1 && performance.now() < until) requestAnimationFrame(move);
    else stop();
  };
  move();
  return stop;
}

/** The navigation beside the page. */
export function Frame(): JSX.Element {
  const { path, query } = useLocation();
  const role = useMe().key.role;
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    setOpen(false);
    return scrollBack(marked("top") ?? 0);
  }, [path]);
  const found = useMemo(() => find(path === "/" ? (PAGES[0]?.path ?? "/") : path), [path]);
  const isShown = found !== null && atLeast(role, found.entry.role ?? "viewer");
  return (
    <div
      class="shell"
      onKeyDown={(event) => {
        if (event.key === "Escape") setOpen(false);
      }}
    >
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The part behind the # is the address of a page.
          event.preventDefault();
          document.querySelector<HTMLElement>("#main h1")?.focus();
        }}
      >
        Skip to the page
      </a>
      <header class="top">
        <div class="brand">
          <Logo />
          <span>Onym</span>
        </div>
        <Button kind="quiet" icon="menu" label="Menu" expanded={isOpen} onClick={() => setOpen(true)} />
      </header>
      <Side current={found?.entry.under ?? found?.entry.path ?? ""} isOpen={isOpen} onClose={() => setOpen(false)} />
      <main class="main" id="main">
        {isShown ? (
          <Opened
            key={`${found.entry.path} ${JSON.stringify(found.params)}`}
            entry={found.entry}
            params={found.params}
            query={query}
          />
        ) : (
          <PageFrame title={found === null ? "There is no such page" : "Not for this key"}>
            <Card>
              <Empty
                icon="search"
                title={
                  found === null
                    ? "Nothing is at this address"
                    : `This page needs a key of role ${found.entry.role ?? "viewer"}${found.entry.role === "owner" ? "" : " or higher"}`
                }
                action={<LinkButton href="#/">Back to the start</LinkButton>}
              />
            </Card>
          </PageFrame>
        )}
      </main>
      <Leave />
    </div>
  );
}

type Loading = { readonly Page: FunctionComponent<PageProps> } | { readonly error: unknown } | null;

/** A page whose code comes when it is opened first. */
function Opened({ entry, params, query }: PageProps & { readonly entry: PageEntry }): JSX.Element {
  const [loading, setLoading] = useState<Loading>(null);
  useEffect(() => {
    let isHere = true;
    entry.load().then(
      (module) => isHere && setLoading(module),
      (error: unknown) => {
        if (!isHere) return;
        setLoading({ error });
        // Either the service is away, or it was updated: this looks which.
        if (mayReload()) wentAway();
      },
    );
    return () => {
      isHere = false;
    };
  }, [entry]);
  const isBack = useStore(returns);
  const isFailed = loading !== null && "error" in loading;
  useEffect(() => {
    if (isFailed && isBack > 0 && mayReload()) reload();
  }, [isBack]);
  if (loading === null || ("error" in loading && mayReload())) return <Bones lines={10} />;
  if ("error" in loading)
    return (
      <Failure
        error={new Error("This page could not be loaded. The service may have been updated: reload the page.")}
        onRetry={() => location.reload()}
      />
    );
  return <loading.Page params={params} query={query} />;
}

const RELOADED = "onym.reloaded";
const RELOAD_MS = 10_000;
/** Not over and over again, if that does not help. */
const mayReload = (): boolean => Date.now() - Number(sessionStorage.getItem(RELOADED) ?? 0) > RELOAD_MS;
/** A browser keeps in mind which file did not come, and asks for it no more. */
function reload(): void {
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
}

const stayed = (): void => notify("You are still logged in: the service did not answer.", "bad");

function Side({
  current,
  isOpen,
  onClose,
}: {
  readonly current: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}): JSX.Element {
  const { workspace, key } = useMe();
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    nav.current?.querySelector('[aria-current="page"]')?.scrollIntoView({ block: "nearest" });
  }, [current, isOpen]);
  const groups = GROUPS.map(({ name, pages }) => ({
    name,
    pages: pages.filter((page) => page.nav !== null && atLeast(key.role, page.role ?? "viewer")),
  })).filter(({ pages }) => pages.length > 0);
  return (
    <aside class={`side${isOpen ? " open" : ""}`} aria-label="Console">
      <div class="brand">
        <Logo />
        <span>Onym</span>
        <span class="close-menu">
          <Button kind="quiet" icon="close" label="Close the menu" onClick={onClose} />
        </span>
      </div>
      <div class="workspace small">
        <strong title={workspace.name}>{workspace.name}</strong>
        <span class="soft">
          {key.role}
          {key.name === null || key.name === key.role ? "" : `, ${key.name}`}
        </span>
      </div>
      <nav ref={nav} class="nav" aria-label="Pages">
        {groups.map(({ name, pages }) => (
          <div key={name}>
            <h2>{name}</h2>
            <ul>
              {pages.map(({ path, nav }) => (
                <li key={path}>
                  <a href={`#${path}`} aria-current={path === current ? "page" : undefined} onClick={onClose}>
                    <Icon name={nav!.icon} />
                    {nav!.name}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div class="side-foot">
        <Button kind="quiet" isSmall icon="out" onClick={() => whenFree(() => void logOut().catch(stayed))}>
          Log out
        </Button>
        <ThemeButton />
      </div>
    </aside>
  );
}

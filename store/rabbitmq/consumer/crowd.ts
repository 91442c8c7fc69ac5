/** Who has taken the places that a queue gives to a worker. */
export interface Crowd {
  /** A delivery of this workspace takes one, until the answer is called. */
  enter(workspace: string): () => void;
  /** Whether half of the places are taken, and this workspace has more than its part of that half. */
  isCrowdedBy(workspace: string): boolean;
}

export function createCrowd(places: number): Crowd {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    enter: (workspace) => {
      all += 1;
      taken.set(workspace, (taken.get(workspace) ?? 0) + 1);
      return () => {
        all -= 1;
        const left = taken.get(workspace)! - 1;
        if (left === 0) taken.delete(workspace);
        else taken.set(workspace, left);
      };
    },
    isCrowdedBy: (workspace) => all > places / 2 && (taken.get(workspace) ?? 0) > Math.max(1, places / 2 / taken.size),
  };
}

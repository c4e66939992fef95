import * as z from 'zod';
import { HIDING_EXCLUSIONS, HIDING_KINDS, type HidingKind } from '#domain/vocabulary.ts';
import type { ReportedFinding } from './reported-finding.ts';

/** What of the repository hides a finding, and where that finding is. */
export const Hiding = z.object({
  kind: z.enum(HIDING_KINDS),
  path: z.string(),
  line: z.number().nullable(),
});
export type Hiding = z.infer<typeof Hiding>;

/** A finding that is there, and that the repository wants nobody to see. */
export const HiddenFinding = Hiding.extend({
  fingerprint: z.string(),
  /** As in `ReportedFinding`. */
  tool: z.string().nullish(),
});
export type HiddenFinding = z.infer<typeof HiddenFinding>;

export function hiddenBy(kind: HidingKind, finding: ReportedFinding): HiddenFinding {
  const { fingerprint, tool, location } = finding;
  return { kind, path: location.path, line: location.start_line, fingerprint, tool };
}

/** How much of what was found is hidden: by kind, with the first places. */
export interface HiddenCount {
  readonly kind: HidingKind;
  readonly count: number;
  readonly places: { readonly path: string; readonly line: number | null }[];
}

/** Places that a run shows of each kind. */
const PLACES = 20;
/** A longer path is counted, but not shown: a run's record has to stay small. */
const LONGEST_PATH = 300;

export function countHidden(hidden: readonly Hiding[]): HiddenCount[] {
  const byKind = Map.groupBy(hidden, ({ kind }) => kind);
  return HIDING_KINDS.flatMap((kind) => {
    const own = byKind.get(kind) ?? [];
    const shown = own.filter(({ path }) => path.length <= LONGEST_PATH).slice(0, PLACES);
    const places = shown.map(({ path, line }) => ({ path, line }));
    return own.length === 0 ? [] : [{ kind, count: own.length, places }];
  });
}

/** Why a report in which an exclusion left nothing of what was found does not tell what is there; null otherwise. */
export function coveredWhole(name: string, visible: number, hidden: readonly Hiding[]): string | null {
  const excluded = hidden.filter(({ kind }) => HIDING_EXCLUSIONS.some((one) => one === kind)).length;
  if (visible > 0 || excluded === 0) return null;
  return `what the repository excludes leaves nothing of the ${hidden.length} findings of ${name}`;
}

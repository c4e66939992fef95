import type { ErrorCode } from '#contract/errors.ts';
import type { ErrorDetail } from '#domain/errors.ts';
import type { Origin } from '#domain/origin.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import type { ReportLimits } from './report-limits.ts';

export type ReadRequest = {
  readonly bytes: Uint8Array;
  readonly limits: ReportLimits;
} & (
  | {
      /** A caller's: as `readUpload` takes it. */
      readonly from: 'upload';
      readonly named: Scanner | null;
      readonly key: string;
      readonly orgId: string;
      readonly assetId: string;
    }
  /** Our own runner's, sanitised there. */
  | { readonly from: 'runner'; readonly scanner: Scanner }
);

/** What one origin reports, in a few words. */
export interface ReadSet {
  readonly origin: Origin;
  readonly counts: Record<string, number>;
  readonly digest: string;
  /** Findings. */
  readonly count: number;
}

/** What a report holds of one scanner; its findings come apart, as lines. */
export interface ReadReport {
  readonly scanner: Scanner;
  /** As in `ParsedReport`. */
  readonly incomplete: string | null;
  readonly unread: readonly string[];
  /** Whether there is something that its repository hides. */
  readonly hides: boolean;
  readonly sets: readonly ReadSet[];
}

/** The report can't be taken. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: readonly ErrorDetail[] | undefined;
}

/** First what the report holds, then its findings: gzipped lines, for each scanner in the same order. */
export type ReadPart = readonly ReadReport[];
export type ReadEnd = { readonly lines: readonly Uint8Array[] } | { readonly refused: Refusal };

export function countOf(sets: readonly ReadSet[]): number {
  return sets.reduce((total, { count }) => total + count, 0);
}

import { type Cell, severityRank } from '#domain/cells.ts';
import { isLive } from '#domain/lifecycle.ts';
import type { Route } from '#domain/placement.ts';
import type { FindingStatus, Scanner, Severity } from '#domain/vocabulary.ts';
import type { FindingPlace } from './counter-items.ts';
import type { FindingRecord } from './finding-record.ts';

export type FindingSort = 'severity' | '-severity' | 'created_at' | '-created_at';

/** Which findings a list is of. Times in milliseconds, both ends inclusive. */
export interface FindingFilter {
  readonly severity?: readonly Severity[] | undefined;
  readonly status?: readonly FindingStatus[] | undefined;
  readonly scanner?: readonly Scanner[] | undefined;
  readonly cveId?: string | undefined;
  /** Of findings of these alone: an asset's, or those of a project. */
  readonly places?: readonly FindingPlace[] | undefined;
  readonly createdFrom?: number | undefined;
  readonly createdTo?: number | undefined;
  readonly overdue?: OverdueFilter | undefined;
}

/** Overdue or not: live, and created no later than the time of its severity (null: no due date). */
export interface OverdueFilter {
  readonly wanted: boolean;
  readonly createdUntil: Readonly<Record<Severity, number | null>>;
}

/** A finding's place in an index: all that sorting needs. */
export interface Position {
  readonly id: string;
  readonly cell: string;
  readonly createdAt: string;
}

export function matchesCell(cell: Cell, filter: FindingFilter): boolean {
  return (
    (!filter.severity || filter.severity.includes(cell.severity)) &&
    (!filter.status || filter.status.includes(cell.status)) &&
    (!filter.scanner || filter.scanner.includes(cell.scanner))
  );
}

/** When findings of a cell must have been created to match; null where none of them can. */
export function createdRange(
  cell: Cell,
  { createdFrom = -Infinity, createdTo = Infinity, overdue }: FindingFilter,
): { readonly from: number; readonly to: number } | null {
  let [from, to] = [createdFrom, createdTo];
  if (overdue) {
    const until = isLive(cell.status) ? overdue.createdUntil[cell.severity] : null;
    if (overdue.wanted && until === null) return null;
    if (overdue.wanted && until !== null) to = Math.min(to, until);
    if (!overdue.wanted && until !== null) from = Math.max(from, until + 1);
  }
  return from <= to ? { from, to } : null;
}

/** In memory, for what is at hand whole (a batch by id, a scan's findings). */
export function matchesFilter(record: FindingRecord, filter: FindingFilter): boolean {
  return (
    matchesCell(record, filter) &&
    wasCreatedInRange(record, record.created_at, filter) &&
    (filter.cveId === undefined || record.cve_id === filter.cveId) &&
    isIn(filter.places)({ assetId: record.asset_id, route: record.routed_to })
  );
}

/** All findings of an asset. */
export function ofAsset(assetId: string): FindingPlace {
  return { assetId, part: 'all' };
}

/** Whether a finding is in one of the places; in any where none are named. */
export function isIn(places: readonly FindingPlace[] | undefined) {
  if (!places) return () => true;
  const names = new Set(places.map(({ assetId, part }) => `${assetId}#${part ?? ''}`));
  return ({ assetId, route }: { readonly assetId: string; readonly route: Route | null }): boolean =>
    names.has(`${assetId}#all`) || names.has(`${assetId}#${route ?? ''}`);
}

export function wasCreatedInRange(cell: Cell, createdAt: string, filter: FindingFilter): boolean {
  const range = createdRange(cell, filter);
  const time = Date.parse(createdAt);
  return range !== null && time >= range.from && time <= range.to;
}

export function sortFindings<T extends { id: string; severity: Severity; created_at: string }>(
  records: readonly T[],
  sort: FindingSort,
): T[] {
  return records.toSorted(
    (a, b) =>
      compareBySort(sort, severityRank(a.severity) - severityRank(b.severity), a.created_at, b.created_at) ||
      compareIds(sort, a.id, b.id),
  );
}

export function bySort(sort: FindingSort) {
  return (a: Position, b: Position) =>
    compareBySort(sort, Number(a.cell[0]) - Number(b.cell[0]), a.createdAt, b.createdAt) ||
    compareIds(sort, a.id, b.id);
}

/** `-severity` is critical first; ties go newest first, as the default sort has it (design 10). */
function compareBySort(sort: FindingSort, bySeverity: number, createdA: string, createdB: string): number {
  if (sort === 'created_at') return compare(createdA, createdB);
  if (sort === '-created_at') return compare(createdB, createdA);
  return (sort === '-severity' ? bySeverity : -bySeverity) || compare(createdB, createdA);
}

/** One ingest gives thousands of findings one time: their ids must run as the index is read, or pages overlap. */
function compareIds(sort: FindingSort, a: string, b: string): number {
  return sort === 'created_at' ? compare(a, b) : compare(b, a);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A position as a cursor carries it: good for one sort alone. */
export function toWords(sort: FindingSort, { cell, createdAt, id }: Position): string[] {
  return [sort, cell, createdAt, id];
}

/** The position behind these words; null where they are of another sort. */
export function fromWords(sort: FindingSort, words: readonly unknown[]): Position | null {
  const [of, cell, createdAt, id] = words;
  if (of !== sort || typeof cell !== 'string' || typeof createdAt !== 'string' || typeof id !== 'string')
    return null;
  return { cell, createdAt, id };
}

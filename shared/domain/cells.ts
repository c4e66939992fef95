import {
  FINDING_STATUSES,
  type FindingStatus,
  SCANNERS,
  type Scanner,
  SEVERITIES,
  type Severity,
} from './vocabulary.ts';

/**
 * A cell is a severity, a status and a scanner: what findings are counted by and what their lists are
 * cut into. Written as three digits, the ranks in the order of the vocabulary, so that cells sort
 * critical first.
 */
export interface Cell {
  readonly severity: Severity;
  readonly status: FindingStatus;
  readonly scanner: Scanner;
}

const SEVERITY_RANK = new Map<string, number>(SEVERITIES.map((severity, rank) => [severity, rank]));
const STATUS_RANK = new Map<string, number>(FINDING_STATUSES.map((status, rank) => [status, rank]));
const SCANNER_RANK = new Map<string, number>(SCANNERS.map((scanner, rank) => [scanner, rank]));

export function cellKey({ severity, status, scanner }: Cell): string {
  return `${SEVERITY_RANK.get(severity)}${STATUS_RANK.get(status)}${SCANNER_RANK.get(scanner)}`;
}

export function parseCell(key: string): Cell {
  const severity = SEVERITIES[Number(key[0])];
  const status = FINDING_STATUSES[Number(key[1])];
  const scanner = SCANNERS[Number(key[2])];
  if (!severity || !status || !scanner) throw new Error(`Not a cell: ${key}`);
  return { severity, status, scanner };
}

/** 0 is critical. */
export function severityRank(severity: Severity): number {
  return SEVERITY_RANK.get(severity) ?? SEVERITIES.length;
}

/** Findings by cell; cells without any are absent or zero. */
export type CellCounts = ReadonlyMap<string, number>;

export function totalOf(counts: CellCounts): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

export function addCounts(...all: readonly CellCounts[]): CellCounts {
  const sum = new Map<string, number>();
  for (const counts of all) for (const [cell, count] of counts) sum.set(cell, (sum.get(cell) ?? 0) + count);
  return sum;
}

const zeros = <const Names extends readonly string[]>(names: Names) =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<Names[number], number>;

export function severityCounts(
  counts: CellCounts,
  include: (cell: Cell) => boolean = () => true,
): Record<Severity, number> {
  const by = zeros(SEVERITIES);
  for (const [key, count] of counts) {
    const cell = parseCell(key);
    if (include(cell)) by[cell.severity] += count;
  }
  return by;
}

/** The summary of the specification's aggregate counts: every key present, zeros included (design 10). */
export function summarize(counts: CellCounts) {
  const summary = {
    total: totalOf(counts),
    by_severity: zeros(SEVERITIES),
    by_status: zeros(FINDING_STATUSES),
    by_scanner: zeros(SCANNERS),
  };
  for (const [key, count] of counts) {
    const cell = parseCell(key);
    summary.by_severity[cell.severity] += count;
    summary.by_status[cell.status] += count;
    summary.by_scanner[cell.scanner] += count;
  }
  return summary;
}

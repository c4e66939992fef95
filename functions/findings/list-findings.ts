import type * as z from 'zod';
import type { findings as contract } from '#contract/operations/findings.ts';
import { cellKey } from '#domain/cells.ts';
import { ServiceError } from '#domain/errors.ts';
import { type Placement, placementOf, projectsOf } from '#domain/placement.ts';
import { SEVERITIES, type Severity } from '#domain/vocabulary.ts';
import { pageOf } from '#http/paging.ts';
import { presentFindings } from '#shared/presenters/finding.ts';
import type { Cursors } from '#shared/security/cursors.ts';
import type { FindingPlace } from '#store/counter-items.ts';
import {
  bySort,
  type FindingFilter,
  type FindingSort,
  fromWords,
  matchesFilter,
  ofAsset,
  type Position,
  sortFindings,
  toWords,
} from '#store/finding-order.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import type { FindingDependencies } from './dependencies.ts';

export interface Selection {
  readonly severity?: FindingFilter['severity'];
  readonly status?: FindingFilter['status'];
  readonly scanner?: FindingFilter['scanner'];
  readonly cve_id?: string | undefined;
  readonly age_min?: number | undefined;
  readonly age_max?: number | undefined;
  readonly overdue?: boolean | undefined;
  readonly project_id?: string | undefined;
  readonly sub_project_id?: string | undefined;
  readonly asset_id?: string | undefined;
}

interface ListQuery extends Selection {
  readonly sort: FindingSort;
  readonly page: number;
  readonly per_page: number;
  readonly cursor?: string | undefined;
}

type FindingList = z.input<typeof contract.operations.listFindings.response.schema>;

const DAY = 24 * 3600 * 1000;

/** The store's filter of what a caller selects; one more request for projects, and for due dates. */
export async function readFilter(
  orgId: string,
  selection: Selection,
  dependencies: Pick<FindingDependencies, 'findings' | 'assets' | 'clock'>,
): Promise<FindingFilter> {
  const { age_min, age_max, overdue } = selection;
  const now = dependencies.clock.now();
  const [places, slaDays] = await Promise.all([
    placesInScope(orgId, selection, dependencies),
    overdue === undefined ? null : dependencies.findings.readSlaDays(orgId),
  ]);
  return {
    severity: selection.severity,
    status: selection.status,
    scanner: selection.scanner,
    cveId: selection.cve_id,
    places,
    // A finding of age N was created between N and N + 1 days ago.
    createdFrom: age_max === undefined ? undefined : now - (age_max + 1) * DAY + 1,
    createdTo: age_min === undefined ? undefined : now - age_min * DAY,
    ...(overdue !== undefined &&
      slaDays && { overdue: { wanted: overdue, createdUntil: dueBefore(slaDays, now) } }),
  };
}

/** Until when a finding must have been created to be overdue now. */
function dueBefore(
  slaDays: Readonly<Record<Severity, number | null>>,
  now: number,
): Record<Severity, number | null> {
  const until = (days: number | null) => (days === null ? null : now - days * DAY);
  return Object.fromEntries(SEVERITIES.map((severity) => [severity, until(slaDays[severity])])) as Record<
    Severity,
    number | null
  >;
}

/** A page of the list that the filter leaves, by number or by cursor. */
export async function listFindings(
  orgId: string,
  filter: FindingFilter,
  query: ListQuery,
  { findings, cursors, clock }: FindingDependencies,
): Promise<FindingList> {
  const { sort, page, per_page } = query;
  const after = await readCursor(orgId, sort, query.cursor, cursors);
  const window = { skip: after ? 0 : (page - 1) * per_page, take: per_page, after };
  const { total, placed, ...shown } = await findings.listPage(orgId, filter, sort, window);
  const last = placed.at(-1);
  const more = after ? placed.length === per_page : window.skip + placed.length < total;
  return {
    data: presentFindings(shown, clock.now()),
    pagination: {
      page,
      per_page,
      total,
      next_cursor: more && last ? await cursors.seal(orgId, toWords(sort, last)) : null,
    },
  };
}

/** A batch by id: missing ids are simply absent, the other filters narrow it further. */
export async function listBatch(
  orgId: string,
  ids: readonly string[],
  filter: FindingFilter,
  { sort, page, per_page, cursor }: ListQuery,
  { findings, cursors, clock }: FindingDependencies,
): Promise<FindingList> {
  const after = await readCursor(orgId, sort, cursor, cursors);
  const held = await findings.getMany(orgId, ids);
  const { records, context } = await findings.readContext(orgId, held);
  const matching = sortFindings(
    records.filter((record) => matchesFilter(record, filter)),
    sort,
  );
  const rest = after ? matching.filter((record) => bySort(sort)(after, positionOf(record)) < 0) : matching;
  const { slice } = pageOf(rest, after ? 1 : page, per_page);
  const last = slice.at(-1);
  const more = last !== undefined && last !== rest.at(-1);
  return {
    data: presentFindings({ records: slice, context }, clock.now()),
    pagination: {
      page,
      per_page,
      total: matching.length,
      next_cursor: more ? await cursors.seal(orgId, toWords(sort, positionOf(last))) : null,
    },
  };
}

function positionOf(record: FindingRecord): Position {
  return { id: record.id, cell: cellKey(record), createdAt: record.created_at };
}

/**
 * Where the list goes on; null: at its beginning.
 * @throws ServiceError of the code: a parameter's, or (where it came in a body) a field's
 */
export async function readCursor(
  orgId: string,
  sort: FindingSort,
  cursor: string | undefined,
  cursors: Cursors,
  code: 'invalid_parameter' | 'validation_error' = 'invalid_parameter',
): Promise<Position | null> {
  if (cursor === undefined) return null;
  const words = await cursors.open(orgId, cursor);
  const position = words && fromWords(sort, words);
  if (position) return position;
  const message = 'cursor must be the next_cursor of a page with the same sort';
  throw new ServiceError(code, message, { details: [{ field: 'cursor', message }] });
}

/** Where the findings are that project, sub-project and asset filters leave together; undefined where none is set. */
export async function placesInScope(
  orgId: string,
  { project_id, sub_project_id, asset_id }: Selection,
  { assets }: Pick<FindingDependencies, 'assets'>,
): Promise<FindingPlace[] | undefined> {
  const wanted = [project_id, sub_project_id].filter((id) => id !== undefined);
  const [narrowest] = wanted.toReversed();
  if (narrowest === undefined) return asset_id ? [ofAsset(asset_id)] : undefined;
  const [entries, routed] = await Promise.all([
    assets.listEntries(orgId),
    assets.listRoutedInto(orgId, narrowest),
  ]);
  const isWanted = (placement: Placement) => wanted.every((id) => projectsOf(placement).includes(id));
  return [
    ...entries.filter(isWanted).map(({ id }): FindingPlace => ({ assetId: id, part: null })),
    ...routed
      .filter(({ route }) => isWanted(placementOf(route)))
      .map(({ assetId, route }): FindingPlace => ({ assetId, part: route })),
  ].filter(({ assetId }) => !asset_id || assetId === asset_id);
}

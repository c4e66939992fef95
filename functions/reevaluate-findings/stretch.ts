import { needsRevisit } from '#domain/lifecycle.ts';
import type { Origin } from '#domain/origin.ts';
import { type ActivePolicy, readActivePolicies } from '#shared/judging/active-policies.ts';
import { AskedPolicies } from '#shared/judging/asked-policies.ts';
import { createJudge, type JudgeDependencies } from '#shared/judging/judge.ts';
import { judgedChange } from '#shared/judging/judged-change.ts';
import { type AssetRecord, type AssetStore, assetPlaceCheck, countedPlace } from '#store/assets.ts';
import type { FindingWriteStore } from '#store/finding-writes.ts';
import type { JudgedOrganizationStore } from '#store/judged-organizations.ts';
import type { ManifestHead, ManifestStore } from '#store/manifests.ts';
import type { PolicyStore } from '#store/policies.ts';
import type { PolicyCodeStore } from '#store/policy-code.ts';
import type { ReevaluationCursor, ReevaluationRef } from '#store/reevaluations.ts';
import type { ScanStore } from '#store/scans.ts';
import { chunksOf } from '#store/table.ts';

export interface StretchDependencies extends JudgeDependencies {
  readonly policies: Pick<PolicyStore, 'listActive'>;
  readonly policyCode: Pick<PolicyCodeStore, 'readCompiled'>;
  readonly assets: Pick<AssetStore, 'get' | 'listEntries'>;
  readonly manifests: Pick<ManifestStore, 'readHeads' | 'readEntries' | 'listRevisits'>;
  readonly scans: Pick<ScanStore, 'get'>;
  readonly judged: Pick<JudgedOrganizationStore, 'has'>;
  readonly writes: Pick<FindingWriteStore, 'readExisting' | 'changeAll'>;
}

/** What one turn works on: from a cursor on, for as long as it may. */
export interface Stretch {
  readonly ref: ReevaluationRef;
  readonly cursor: ReevaluationCursor | null;
  keepGoing(): boolean;
  /** Remembers how far it has come. @throws where another one has taken over */
  save(cursor: ReevaluationCursor): Promise<void>;
}

/** `busy`: what comes next is being ingested. */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'more' | 'busy'; readonly cursor: ReevaluationCursor | null };

/** Findings judged together. */
const BATCH = 500;

/** Goes through findings asset by asset, origin by origin, in the order of their ids. */
export async function goOn(stretch: Stretch, dependencies: StretchDependencies): Promise<Outcome> {
  const { orgId, assetId } = stretch.ref;
  const asked = new AskedPolicies('change', dependencies.clock.now());
  const active = await readActivePolicies(orgId, dependencies);
  // Where no policy judges, none has left anything either, unless one was active not long ago.
  if (active.length === 0 && !(await dependencies.judged.has(orgId))) return { kind: 'done' };
  const assetIds = assetId
    ? [assetId]
    : (await dependencies.assets.listEntries(orgId)).map(({ id }) => id).sort();
  const from = stretch.cursor?.asset_id ?? '';
  let cursor = stretch.cursor;
  try {
    for (const id of assetIds.filter((one) => one >= from)) {
      const outcome = await throughAsset(id, { ...stretch, cursor }, active, asked, dependencies);
      if (outcome.kind !== 'done') return outcome;
      cursor = endOf(id);
      if (!stretch.keepGoing()) return { kind: 'more', cursor };
    }
    return { kind: 'done' };
  } finally {
    await asked.record(orgId, dependencies);
  }
}

/** Past every finding of an asset, or of one of its origins. */
function endOf(assetId: string, origin = '~'): ReevaluationCursor {
  return { asset_id: assetId, scanner: origin, finding_id: '~' };
}

async function throughAsset(
  assetId: string,
  stretch: Stretch,
  active: readonly ActivePolicy[],
  asked: AskedPolicies,
  dependencies: StretchDependencies,
): Promise<Outcome> {
  const { orgId } = stretch.ref;
  const [asset, heads] = await Promise.all([
    dependencies.assets.get(orgId, assetId),
    dependencies.manifests.readHeads(orgId, assetId),
  ]);
  if (!asset) return { kind: 'done' };
  const passed = stretch.cursor?.asset_id === assetId ? stretch.cursor : null;
  let { cursor } = stretch;
  for (const [origin, head] of heads) {
    if (passed && origin < passed.scanner) continue;
    const after = passed?.scanner === origin ? passed.finding_id : '';
    const part = { asset, origin, head, after };
    const outcome = await throughOrigin(part, { ...stretch, cursor }, active, asked, dependencies);
    if (outcome.kind !== 'done') return outcome;
    cursor = endOf(assetId, origin);
    if (!stretch.keepGoing()) return { kind: 'more', cursor };
  }
  return { kind: 'done' };
}

/** Findings of one origin on one asset, from an id on. */
interface Part {
  readonly asset: AssetRecord;
  readonly origin: Origin;
  readonly head: ManifestHead;
  readonly after: string;
}

async function throughOrigin(
  { asset, origin, head, after }: Part,
  { ref: { orgId }, cursor, keepGoing, save }: Stretch,
  active: readonly ActivePolicy[],
  asked: AskedPolicies,
  dependencies: StretchDependencies,
): Promise<Outcome> {
  const { manifests, scans, writes, clock } = dependencies;
  // An ingest judges by the policies that it began with; and two that write the same findings hinder each other.
  if (head.lease_run !== null && head.lease_until > clock.now()) return { kind: 'busy', cursor };
  const ids = (await unresolvedIds(orgId, asset.id, origin, head, manifests)).filter((id) => id > after);
  if (ids.length === 0) return { kind: 'done' };
  const scan = head.last_scan_id === null ? null : await scans.get(orgId, head.last_scan_id);
  const judge = createJudge(active, { orgId, asset, scan }, asked, dependencies);
  const scope = {
    orgId,
    place: countedPlace(asset),
    guards: [assetPlaceCheck(orgId, asset, () => new AssetMoved())],
  };
  let reached = cursor;
  try {
    for (const [index, batch] of chunksOf(ids, BATCH).entries()) {
      // The first of them always: each turn gets somewhere.
      if (index > 0 && !keepGoing()) return { kind: 'more', cursor: reached };
      const held = await writes.readExisting(orgId, batch);
      const marked = new Set(held.filter(needsRevisit).map(({ id }) => id));
      await writes.changeAll(scope, held, await judgedChange(judge, held, (one) => one), marked);
      reached = { asset_id: asset.id, scanner: origin, finding_id: batch.at(-1) ?? '' };
      await save(reached);
    }
    return { kind: 'done' };
  } catch (error) {
    if (error instanceof AssetMoved) return { kind: 'more', cursor: reached };
    throw error;
  }
}

/**
 * Every finding of an origin that is not resolved, or that its next run would reopen: what it reported last, and
 * what was decided otherwise. Both are read consistently, so that none is missed.
 */
async function unresolvedIds(
  orgId: string,
  assetId: string,
  origin: Origin,
  head: ManifestHead,
  manifests: StretchDependencies['manifests'],
): Promise<string[]> {
  const [entries, revisits] = await Promise.all([
    manifests.readEntries(orgId, assetId, origin, head.chunks),
    manifests.listRevisits(orgId, assetId, origin),
  ]);
  return [...new Set([...entries.map(({ id }) => id), ...revisits])].sort();
}

/** It is counted elsewhere now: the next turn reads it anew. */
class AssetMoved extends Error {
  override readonly name = 'AssetMoved';
}

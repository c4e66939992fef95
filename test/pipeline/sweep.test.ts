import { randomUUID } from 'node:crypto';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { TIER_LIMITS } from '#contract/limits.ts';
import type { RunExecution } from '#events/pipeline.ts';
import { finishRun } from '#functions/finish-run/finish-run.ts';
import { dispatchRuns } from '#functions/run-dispatcher/dispatch.ts';
import { planScan } from '#functions/scan-planner/plan-scan.ts';
import { sweep } from '#functions/sweep/sweep.ts';
import { newRequestId } from '#shared/request-scope.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createExportStore } from '#store/exports.ts';
import { createImportStore } from '#store/imports.ts';
import { capacityKey, exportKey, scanLockKey } from '#store/keys.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRecordDeletions } from '#store/record-deletions.ts';
import { createRunnerPlaceStore } from '#store/runner-places.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { sampleAsset, testAttribution } from '#test/harness/samples.ts';

/**
 * Planner, dispatcher and sweep on the real table, with the clock and the far ends of the queues and
 * of Step Functions in the test's hands: what gets lost on the way is lost on purpose.
 */
const { table } = countedTable();
const clock = { at: Date.now(), now: () => clock.at };
const stores = {
  scans: createScanStore(table),
  runs: createRunStore(table),
  assets: createAssetStore(table, createCounterStore(table, 1)),
  organizations: createOrganizationStore(table),
  exports: createExportStore(table),
  places: createRunnerPlaceStore(table),
};

let org: TestOrganization;
let sent: { scans: string[]; dispatches: number; imports: string[]; exports: string[] };
let executions: { started: RunExecution[]; stopped: string[]; running: Set<string>; failing: boolean };
let dependencies: Parameters<typeof planScan>[1] &
  Parameters<typeof dispatchRuns>[1] &
  Parameters<typeof sweep>[0];

beforeEach(async () => {
  org = await createTestOrganization({ tier: 'free' });
  sent = { scans: [], dispatches: 0, imports: [], exports: [] };
  executions = { started: [], stopped: [], running: new Set(), failing: false };
  dependencies = {
    ...stores,
    clock,
    maxRunners: 0,
    // Other tests' scans are active in the same table: this sweep looks at its own organization's.
    scans: {
      ...stores.scans,
      listActive: async () => (await stores.scans.listActive()).filter(({ orgId }) => orgId === org.orgId),
    },
    scanRequests: { send: async ({ scan_id }) => void sent.scans.push(scan_id) },
    dispatchRequests: {
      send: async () => {
        sent.dispatches += 1;
      },
    },
    listPendingDeletions: async () => [],
    deletions: { send: async () => {} },
    reevaluations: { listIdle: async () => [] },
    reevaluationRequests: { send: async () => {} },
    exports: {
      ...stores.exports,
      listPending: async () =>
        (await stores.exports.listPending()).filter(({ orgId }) => orgId === org.orgId),
    },
    exportRequests: { send: async ({ export_id }) => void sent.exports.push(export_id) },
    manifests: createManifestStore(table),
    importRequests: { send: async ({ scan_id }) => void sent.imports.push(scan_id) },
    executions: {
      start: async (input) => {
        if (executions.failing) throw new Error('no capacity');
        executions.started.push(input);
        executions.running.add(input.run_id);
      },
      isRunning: async (runId) => executions.running.has(runId),
      stop: async (runId) => void executions.stopped.push(runId),
    },
  };
});

async function accept(
  scanners: ('semgrep' | 'gitleaks')[] = ['semgrep', 'gitleaks'],
  requestId: string | null = null,
): Promise<string> {
  const asset = sampleAsset();
  await stores.assets.create(org.orgId, asset, testAttribution(clock.at));
  const id = randomUUID();
  await stores.scans.create(
    org.orgId,
    { id, scope: 'asset', targetId: asset.id, scanners, branch: null, trigger: 'api' },
    TIER_LIMITS.free,
    null,
    { ...testAttribution(clock.at), requestId },
  );
  return id;
}

const plan = (scanId: string) => planScan({ org_id: org.orgId, scan_id: scanId }, dependencies);
const dispatch = () => dispatchRuns({ org_id: org.orgId }, dependencies);
const scanOf = (scanId: string) => stores.scans.require(org.orgId, scanId);
const capacity = async () => {
  const { queued_scans, running_scans, running_scanners } = (await table.get(capacityKey(org.orgId))) ?? {};
  return { queued_scans, running_scans, running_scanners };
};

describe('the tier’s limits', () => {
  it('let one scan of a free organization run, and the next when it has ended', async () => {
    const [first, second] = [await accept(), await accept()];
    await plan(first);
    await plan(second);
    expect([(await scanOf(first)).status, (await scanOf(second)).status]).toEqual(['running', 'queued']);
    expect(await capacity()).toMatchObject({ queued_scans: 1, running_scans: 1 });
    await stores.scans.finish(org.orgId, await scanOf(first), 'cancelled', testAttribution(clock.at));
    await plan(second);
    expect((await scanOf(second)).status).toBe('running');
  });

  it('let no more scanner processes start than there are', async () => {
    const scanId = await accept();
    await plan(scanId);
    await table.update({
      Key: capacityKey(org.orgId),
      UpdateExpression: 'SET running_scanners = :n',
      ExpressionAttributeValues: { ':n': 4 },
    });
    await dispatch();
    expect(executions.started).toEqual([]);
    await table.update({
      Key: capacityKey(org.orgId),
      UpdateExpression: 'SET running_scanners = :n',
      ExpressionAttributeValues: { ':n': 3 },
    });
    await dispatch();
    expect(executions.started).toHaveLength(1);
    expect(await capacity()).toMatchObject({ running_scanners: 5 });
  });

  it('refuse a scan over the queue', async () => {
    await table.update({
      Key: capacityKey(org.orgId),
      UpdateExpression: 'SET queued_scans = :n',
      ExpressionAttributeValues: { ':n': 100 },
    });
    await expect(accept()).rejects.toMatchObject({ code: 'scan_limit_exceeded' });
  });
});

describe('a step that comes twice, or not at all', () => {
  it('plans once, and starts each run once', async () => {
    const scanId = await accept();
    await Promise.all([plan(scanId), plan(scanId), plan(scanId)]);
    await plan(scanId);
    await Promise.all([dispatch(), dispatch(), dispatch()]);
    expect(executions.started).toHaveLength(1);
    expect(await scanOf(scanId)).toMatchObject({ remaining: 1, total: 2 });
    expect(await capacity()).toEqual({ queued_scans: 0, running_scans: 1, running_scanners: 2 });
  });

  it('puts a run back that could not be started', async () => {
    const scanId = await accept();
    await plan(scanId);
    executions.failing = true;
    await expect(dispatch()).rejects.toThrow('no capacity');
    expect(await capacity()).toMatchObject({ running_scanners: 0 });
    executions.failing = false;
    await dispatch();
    expect(executions.started).toHaveLength(1);
  });

  it('is sent again by the sweep: a scan whose message was lost', async () => {
    const scanId = await accept();
    await sweep(dependencies);
    expect(sent.scans).toEqual([]);
    clock.at += 31_000;
    await sweep(dependencies);
    expect(sent.scans).toEqual([scanId]);
  });
});

describe('an asset that is deleted', () => {
  const counters = createCounterStore(table, 1);
  const deletions = createRecordDeletions(table, createAssetStore(table, counters), counters);
  const remove = (assetId: string) => deletions.beginAsset(org.orgId, assetId, testAttribution(clock.at));
  const targetOf = async (scanId: string) => String((await scanOf(scanId)).target_id);

  it('has no run started that waits: its scan ends, and leaves nothing behind', async () => {
    const scanId = await accept();
    const assetId = await targetOf(scanId);
    await plan(scanId);
    await remove(assetId);
    await dispatch();
    expect(executions.started).toEqual([]);
    expect(await scanOf(scanId)).toMatchObject({
      status: 'cancelled',
      remaining: 0,
      total: 0,
      failed: 0,
      failures: [],
    });
    expect((await stores.runs.get(org.orgId, scanId, assetId))?.status).toBe('cancelled');
    expect(await stores.runs.listWaiting(org.orgId, 10)).toEqual([]);
    expect(await capacity()).toMatchObject({ running_scans: 0 });
    expect((await capacity()).running_scanners ?? 0).toBe(0);
    expect(await table.get(scanLockKey(org.orgId, 'asset', assetId, null))).toBeNull();
    expect((await stores.scans.listActive()).map((one) => one.scanId)).not.toContain(scanId);
  });

  it('goes out of a scan of several, which ends with the others', async () => {
    const [kept, gone] = [sampleAsset(), sampleAsset()];
    for (const asset of [kept, gone]) await stores.assets.create(org.orgId, asset, testAttribution(clock.at));
    const scanId = randomUUID();
    await stores.scans.create(
      org.orgId,
      {
        id: scanId,
        scope: 'organization',
        targetId: null,
        scanners: ['gitleaks'],
        branch: null,
        trigger: 'api',
      },
      TIER_LIMITS.free,
      null,
      testAttribution(clock.at),
    );
    await plan(scanId);
    await remove(gone.id);
    await dispatch();
    expect(executions.started.map(({ asset_id }) => asset_id)).toEqual([kept.id]);
    expect(await scanOf(scanId)).toMatchObject({ status: 'running', remaining: 1, total: 1, failed: 0 });
    const [run] = executions.started as [RunExecution];
    const ref = { orgId: org.orgId, scanId, assetId: kept.id, runId: run.run_id };
    await stores.runs.scannerReported(ref, 'gitleaks', 0, clock.at);
    await stores.runs.scannerIngested(ref, 'gitleaks', {
      counts: {},
      new_count: 0,
      resolved_count: 0,
      manifests: [],
    });
    await finishRun(run, dependencies);
    expect(await scanOf(scanId)).toMatchObject({ status: 'completed', remaining: 0, total: 1, done: 1 });
  });

  it('is no failure of the service where its run was started already', async () => {
    const measured = vi.spyOn(Metrics.prototype, 'addMetric');
    const scanId = await accept();
    await plan(scanId);
    await dispatch();
    await remove(await targetOf(scanId));
    const [run] = executions.started as [RunExecution];
    const step = { ...run, failure: { Error: 'States.TaskFailed', Cause: 'The runner ended with 1' } };
    const warned = vi.spyOn(console, 'warn');
    await finishRun(step, dependencies);
    expect(warned).toHaveBeenCalledWith(
      expect.objectContaining({ message: 'run ended by a failure', org_id: org.orgId, scan_id: scanId }),
    );
    warned.mockRestore();
    expect(await scanOf(scanId)).toMatchObject({ status: 'cancelled', failures: [] });
    expect(await capacity()).toMatchObject({ running_scans: 0, running_scanners: 0 });
    expect(measured).not.toHaveBeenCalled();

    // The same end of an asset that is there is one.
    const other = await accept();
    await plan(other);
    await dispatch();
    await finishRun({ ...step, ...(executions.started[1] as RunExecution) }, dependencies);
    expect(await scanOf(other)).toMatchObject({
      status: 'failed',
      failures: [{ code: 'internal_error' }, {}],
    });
    expect(measured).toHaveBeenCalledWith('RunsFailed', 'Count', 1);
    measured.mockRestore();
  });

  it('leaves no entry of a cancelled scan in the queue, whose run is gone by now', async () => {
    const scanId = await accept();
    const assetId = await targetOf(scanId);
    await plan(scanId);
    await remove(assetId);
    await stores.scans.finish(org.orgId, await scanOf(scanId), 'cancelled', testAttribution(clock.at));
    await deletions.continueAsset(
      org.orgId,
      assetId,
      clock.at,
      () => true,
      async () => true,
    );
    expect(await stores.runs.get(org.orgId, scanId, assetId)).toBeNull();
    await dispatch();
    expect(await stores.runs.listWaiting(org.orgId, 10)).toEqual([]);
  });
});

describe('the sweep', () => {
  it('ends an import whose upload never came', async () => {
    const asset = sampleAsset();
    await stores.assets.create(org.orgId, asset, testAttribution(clock.at));
    const ref = { orgId: org.orgId, scanId: randomUUID(), assetId: asset.id, runId: randomUUID() };
    await createImportStore(table).expectUpload(
      { ref, branch: null, isDefault: true, becomesDefault: false, reports: [], idempotency: null },
      testAttribution(clock.at),
    );
    clock.at += 20 * 60_000;
    await sweep(dependencies);
    expect(await scanOf(ref.scanId)).toMatchObject({ status: 'queued' });
    clock.at += 11 * 60_000;
    await sweep(dependencies);
    expect(await scanOf(ref.scanId)).toMatchObject({
      status: 'failed',
      failures: [{ code: 'report_invalid' }],
    });
    expect(sent.scans).toEqual([]);
    expect(await dependencies.scans.listActive()).toEqual([]);
  });

  it('sends an import again whose message was lost, unless somebody is at work on it', async () => {
    const asset = sampleAsset();
    await stores.assets.create(org.orgId, asset, testAttribution(clock.at));
    const ref = { orgId: org.orgId, scanId: randomUUID(), assetId: asset.id, runId: randomUUID() };
    const reports = [{ scanner: 'semgrep' as const, count: 3 }];
    await createImportStore(table).create(
      { ref, branch: null, isDefault: true, becomesDefault: false, reports, idempotency: null },
      testAttribution(clock.at),
    );
    clock.at += 31_000;
    await sweep(dependencies);
    expect(sent.imports).toEqual([ref.scanId]);
    await createManifestStore(table).lease(org.orgId, asset.id, 'semgrep', 'somebody', clock.at);
    await sweep(dependencies);
    expect(sent.imports).toEqual([ref.scanId]);
    clock.at += 60 * 60_000;
    await sweep(dependencies);
    expect(await scanOf(ref.scanId)).toMatchObject({ status: 'failed', failed: 1 });
    expect(await dependencies.scans.listActive()).toEqual([]);
    // It took nothing of the tier's capacity, and gives nothing back.
    expect(await capacity()).toEqual({});
  });

  it('ends a run whose execution was cut off, and with it the scan', async () => {
    const requestId = newRequestId();
    const scanId = await accept(['semgrep', 'gitleaks'], requestId);
    await plan(scanId);
    await dispatch();
    clock.at += 31_000;
    await sweep(dependencies);
    expect((await scanOf(scanId)).status).toBe('running');
    executions.running.clear();
    const said: unknown[] = [];
    const warned = vi.spyOn(console, 'warn').mockImplementation((line) => void said.push(line));
    const informed = vi.spyOn(console, 'info').mockImplementation((line) => void said.push(line));
    await sweep(dependencies);
    warned.mockRestore();
    informed.mockRestore();
    const ended = await scanOf(scanId);
    // As the runbook follows it: by the id of the request, which the sweep has none of itself.
    const ids = { request_id: requestId, org_id: org.orgId, scan_id: scanId };
    for (const message of ['ending a lost run', 'run finished'])
      expect(said).toContainEqual(expect.objectContaining({ message, ...ids }));
    expect(ended).toMatchObject({ status: 'failed', done: 0, failed: 2 });
    expect(ended.failures.map(({ code }) => code)).toEqual(['internal_error', 'internal_error']);
    expect(await capacity()).toEqual({ queued_scans: 0, running_scans: 0, running_scanners: 0 });
    // The scope is free again, and nothing is left to sweep.
    expect(await dependencies.scans.listActive()).toEqual([]);
  });

  it('ends a scan at the tier’s longest duration, with its runs', async () => {
    const scanId = await accept();
    await plan(scanId);
    await dispatch();
    clock.at += 30 * 60_000 + 1000;
    await sweep(dependencies);
    const ended = await scanOf(scanId);
    expect(ended).toMatchObject({ status: 'failed' });
    expect(new Set(ended.failures.map(({ code }) => code))).toEqual(new Set(['scanner_timeout']));
    expect(executions.stopped).toEqual(executions.started.map(({ run_id }) => run_id));
    expect(await capacity()).toEqual({ queued_scans: 0, running_scans: 0, running_scanners: 0 });
  });
});

describe('the sweep of exports', () => {
  const { exports } = stores;
  const accepted = async () => {
    const id = randomUUID();
    await exports.create(org.orgId, { id, format: 'csv', selection: {} }, testAttribution(clock.at));
    return id;
  };
  const exportOf = (id: string) => exports.get(org.orgId, id, clock.at);
  const pending = async () => (await dependencies.exports.listPending()).map(({ exportId }) => exportId);
  const completed = () =>
    ({ status: 'completed', count: 0, error: null, finished_at: new Date(clock.at).toISOString() }) as const;

  it('sends one again whose message was lost, unless somebody is at work on it', async () => {
    const id = await accepted();
    await sweep(dependencies);
    expect(sent.exports).toEqual([]);
    clock.at += 31_000;
    await sweep(dependencies);
    expect(sent.exports).toEqual([id]);

    expect(await exports.take(org.orgId, id, 'first', clock.at)).toBe(true);
    expect(await exportOf(id)).toMatchObject({ status: 'running' });
    clock.at += 50_000;
    await sweep(dependencies);
    expect(await exports.renew(org.orgId, id, 'first', clock.at)).toBe(true);
    clock.at += 50_000;
    await sweep(dependencies);
    expect(await exports.take(org.orgId, id, 'second', clock.at)).toBe(false);
    expect(sent.exports).toEqual([id]);

    // It renews no more: the next one takes over, and what the first one says of it is worth nothing.
    clock.at += 11_000;
    await sweep(dependencies);
    expect(sent.exports).toEqual([id, id]);
    expect(await exports.take(org.orgId, id, 'second', clock.at)).toBe(true);
    expect(await exports.renew(org.orgId, id, 'first', clock.at)).toBe(false);
    expect(await exports.finish(org.orgId, id, completed(), 'first')).toBe(false);
    expect(await exportOf(id)).toMatchObject({ status: 'running' });
    expect(await exports.finish(org.orgId, id, completed(), 'second')).toBe(true);
    expect(await exportOf(id)).toMatchObject({ status: 'completed', count: 0 });
    expect(await pending()).toEqual([]);
  });

  it('ends one that has not ended after an hour, whoever holds it', async () => {
    const id = await accepted();
    clock.at += 60 * 60_000;
    await exports.take(org.orgId, id, 'somebody', clock.at);
    await sweep(dependencies);
    expect(await exportOf(id)).toMatchObject({ status: 'running' });
    clock.at += 1000;
    await sweep(dependencies);
    expect(await exportOf(id)).toMatchObject({
      status: 'failed',
      count: null,
      error: { code: 'internal_error', message: expect.stringContaining('within an hour') },
      finished_at: new Date(clock.at).toISOString(),
    });
    expect(await exports.finish(org.orgId, id, completed(), 'somebody')).toBe(false);
    expect(await exportOf(id)).toMatchObject({ status: 'failed' });
    expect(await pending()).toEqual([]);
  });

  it('forgets one whose record is gone, and makes none anew', async () => {
    const id = await accepted();
    await table.deleteAll([exportKey(org.orgId, id)]);
    expect(await exports.take(org.orgId, id, 'somebody', clock.at)).toBe(false);
    clock.at += 61 * 60_000;
    await sweep(dependencies);
    expect(await pending()).toEqual([]);
    expect(await table.get(exportKey(org.orgId, id))).toBeNull();
  });
});

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createPolicyStore, type NewPolicy } from '#store/policies.ts';
import { createPolicyCodeStore } from '#store/policy-code.ts';
import { createPolicyRunStore, type PolicyRunRecord } from '#store/policy-runs.ts';
import { faultyTable, transactionConflict } from '#test/harness/faulty-table.ts';
import { testTable } from '#test/harness/organization.ts';
import { testAttribution } from '#test/harness/samples.ts';

const newPolicy = (): NewPolicy => ({
  id: randomUUID(),
  name: 'Policy',
  description: null,
  kind: 'triage',
  scope: 'organization',
  scope_target_id: null,
  code: 'code',
  message: null,
});

describe('policies in the store', () => {
  it('have consecutive versions where saves meet, and the store says so too', async () => {
    let transactions = 0;
    const store = createPolicyStore(
      faultyTable(({ command, input }) => {
        if (command !== 'TransactWriteItemsCommand') return undefined;
        transactions += 1;
        return transactions % 3 === 0
          ? transactionConflict((input.TransactItems as unknown[]).length)
          : undefined;
      }),
    );
    const [orgId, policy] = [randomUUID(), newPolicy()];
    await store.create(orgId, policy, testAttribution());
    const saves = Array.from({ length: 10 }, (_, index) =>
      store.save(
        orgId,
        policy.id,
        { code: `code ${index}`, message: null },
        'policy.update',
        testAttribution(),
      ),
    );
    // Activation is no version, and is lost to none of them.
    const [active, ...saved] = await Promise.all([
      store.setActive(orgId, policy.id, true, testAttribution()),
      ...saves,
    ]);
    expect(active.active).toBe(true);
    expect(saved.map(({ version }) => version).sort((a, b) => a - b)).toEqual([
      2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
    ]);
    const versions = await store.listVersions(orgId, policy.id);
    expect(new Set(versions.map(({ code }) => code)).size).toBe(11);
    expect(await store.require(orgId, policy.id)).toMatchObject({ version: 11, active: true });
  });

  it('are saved or deleted, never half of both', async () => {
    const store = createPolicyStore(testTable());
    const [orgId, policy] = [randomUUID(), newPolicy()];
    await store.create(orgId, policy, testAttribution());
    const outcomes = await Promise.allSettled([
      store.save(orgId, policy.id, { name: 'Other', message: null }, 'policy.update', testAttribution()),
      store.delete(orgId, policy.id, testAttribution()),
    ]);
    expect(outcomes[1].status).toBe('fulfilled');
    const numbers = (await store.listVersions(orgId, policy.id)).map(({ version }) => version);
    expect(numbers).toEqual(outcomes[0].status === 'fulfilled' ? [2, 1] : [1]);
    expect(await store.list(orgId)).toEqual([]);
    // Both names are free.
    for (const name of ['Policy', 'Other'])
      await store.create(orgId, { ...newPolicy(), name }, testAttribution());
  });

  it('refuse code that is too large for an item', async () => {
    const code = createPolicyCodeStore(testTable());
    const wasm = crypto.getRandomValues(new Uint8Array(60_000));
    const large = Buffer.concat(
      Array.from({ length: 8 }, () => crypto.getRandomValues(new Uint8Array(60_000))),
    );
    const policy = {
      kind: 'triage' as const,
      rego: 'package svc.triage',
      sets: [],
      evaluator: 'wasm' as const,
    };
    await expect(code.keep(randomUUID(), { ...policy, wasm: large })).rejects.toMatchObject({
      code: 'rego_compile_error',
    });
    await code.keep(randomUUID(), { ...policy, wasm });
  });

  it('have runs that end by time, whenever they are deleted', async () => {
    const runs = createPolicyRunStore(testTable());
    const [orgId, policy_id] = [randomUUID(), randomUUID()];
    const run: PolicyRunRecord = {
      id: randomUUID(),
      policy_id,
      version: 1,
      trigger: 'ingest',
      started_at: '2026-01-01T00:00:00.000Z',
      duration_ms: 1,
      evaluated: 0,
      decisions: {},
      errors: 0,
      error: null,
      tests: null,
    };
    await runs.record(orgId, run);
    const day = 24 * 3600 * 1000;
    const at = Date.parse(run.started_at);
    expect(await runs.list(orgId, policy_id, at + 29 * day)).toEqual([run]);
    expect(await runs.list(orgId, policy_id, at + 31 * day)).toEqual([]);
  });
});

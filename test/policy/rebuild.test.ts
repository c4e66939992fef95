import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { policyFiles } from '#shared/policy/files.ts';
import { createReactor, type Reactor } from '#shared/policy/reactor.ts';
import { GO_SOURCES, HAS_GO, SAMPLES } from './engine.ts';
import { LANGUAGE_SAMPLES } from './language-samples.ts';

/**
 * The artefact is what its sources make. Takes a minute and a half of CPU where Go has nothing in its cache, so it
 * runs only when asked to: POLICY_REBUILD=1.
 */
const asked = process.env.POLICY_REBUILD === '1' && HAS_GO;
if (!asked) console.warn('POLICY_REBUILD is not 1, or Go is not here: the policy engine is not rebuilt');

test.skipIf(!asked)('a rebuilt engine answers as the committed one', { timeout: 900_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'policy-rebuilt-'));
  const committed = createReactor(policyFiles());
  const rebuilt = createReactor({ ...policyFiles(), reactor: join(folder, 'opa.wasm.br') });
  try {
    const { status, stderr } = spawnSync(process.execPath, [`${GO_SOURCES}build.ts`, folder], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(await rebuilt.about()).toEqual(await committed.about());
    for (const rules of [...Object.values(LANGUAGE_SAMPLES), 'x := y', 'a {', 'x := time.now_ns()'])
      expect(await answers(rebuilt, rules)).toEqual(await answers(committed, rules));
  } finally {
    await Promise.all([committed.close(), rebuilt.close()]);
    await rm(folder, { recursive: true });
  }
});

async function answers(reactor: Reactor, rules: string) {
  const policy = { kind: 'triage', rego: `package svc.triage\nimport rego.v1\n${rules}` } as const;
  return {
    checked: await reactor.check(policy, SAMPLES),
    compiled: await reactor.compile(policy),
    evaluated: await reactor.evaluate(policy, SAMPLES),
  };
}

import { describe, expect, it } from 'vitest';
import { Finding } from '#contract/schemas/records.ts';
import { SEVERITIES } from '#domain/vocabulary.ts';
import { checkPolicy } from '#shared/policy/check.ts';
import { POLICY_KINDS, packageOf } from '#shared/policy/kinds.ts';
import { SAMPLE_INPUTS } from '#shared/presenters/policy-input.ts';
import { startEngine } from './engine.ts';

describe('sample inputs', () => {
  it('are findings as the API shows them, one for each severity', () => {
    const shown = Finding.omit({ updated_at: true, suppressed_in_repository: true });
    for (const { finding } of SAMPLE_INPUTS) expect(shown.parse(finding)).toEqual(finding);
    expect(SAMPLE_INPUTS.map(({ finding }) => finding.severity)).toEqual([...SEVERITIES]);
  });

  it('lack the time that moves with what policies decide, and what the repository says of them', () => {
    for (const { finding } of SAMPLE_INPUTS) {
      expect(finding).not.toHaveProperty('updated_at');
      expect(finding).not.toHaveProperty('suppressed_in_repository');
    }
  });

  it('are something for policies of every kind', async () => {
    await using engine = startEngine();
    for (const kind of POLICY_KINDS) {
      const rego = `package ${packageOf(kind)}\n\nimport rego.v1\n\nseen := input.finding.severity\n`;
      const checked = await checkPolicy(engine.reactor, { kind, rego, samples: SAMPLE_INPUTS });
      expect(checked).toMatchObject({ ok: true, warnings: [], compiled: { evaluator: 'wasm' } });
    }
  });
});

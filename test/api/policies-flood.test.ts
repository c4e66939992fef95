import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { policies } from '#contract/operations/policies.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization } from '#test/harness/organization.ts';

const triage = (rules: string) => `package svc.triage\n\nimport rego.v1\n\n${rules}\n`;
/** A hundred million steps: it ends with its deadline. */
const RUNAWAY = triage(
  'n := count([1 | some i in numbers.range(1, 1000); some j in numbers.range(1, 100000); i * j == -1])',
);

it('of policies that run away is answered, and harms no other organization', async () => {
  const [flooding, other] = await Promise.all([createTestOrganization(), createTestOrganization()]);
  let ended = 0;
  const flood = Array.from({ length: 12 }, async () => {
    const body = { kind: 'triage', rego: RUNAWAY, input: {} };
    const answer = await request('POST', '/api/policies/evaluate', { key: flooding.accessToken, body });
    ended += 1;
    return answer;
  });
  const rego = triage('decision := "accept"');
  const made = await other.client.call(policies.operations.createPolicy, {
    body: { name: `policy ${randomUUID()}`, kind: 'triage', rego },
  });
  const body = { policy_id: made.id, input: {} };
  const asked = await request('POST', '/api/policies/evaluate', { key: other.accessToken, body });
  expect(asked.body).toMatchObject({ decision: 'accept' });
  expect(ended).toBeLessThan(flood.length);

  const answers = await Promise.all(flood);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422, 503]));
  for (const { status, headers } of answers)
    if (status === 503) expect(headers.get('retry-after')).toBe('30');
});

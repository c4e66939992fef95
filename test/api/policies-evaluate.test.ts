import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

const { operations } = policies;
let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const name = () => `policy ${randomUUID()}`;
const triage = (rules: string) => `package svc.triage\n\nimport rego.v1\n\n${rules}\n`;
const evaluate = (body: object) => request('POST', '/api/policies/evaluate', { key: org.accessToken, body });
const create = (rego: string) =>
  org.client.call(operations.createPolicy, { body: { name: name(), kind: 'triage', rego } });

describe('evaluating a policy', () => {
  it('answers decision, result, reasons and what was printed, of an inline source', async () => {
    const rego = triage(
      'decision := "reject" if {\n  print("score", input.finding.epss_score)\n  input.finding.epss_score < 0.1\n}\n\nreason := "unlikely"',
    );
    const { status, body } = await evaluate({
      kind: 'triage',
      rego,
      input: { finding: { epss_score: 0.05 } },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      decision: 'reject',
      result: { decision: 'reject', reason: 'unlikely' },
      reasons: ['unlikely'],
      output: [{ row: 6, text: 'score 0.05' }],
      policy_id: null,
      version: null,
      duration_ms: expect.any(Number),
      finding_id: null,
      error: null,
    });
  });

  it.each([
    ['priority', 'priority := 2', 2],
    ['ownership', 'owner := "team-a"', 'team-a'],
    ['project', 'project := "payments"', 'payments'],
    ['pr_scan', 'decision := "warn"', 'warn'],
    ['triage', 'other := 1', null],
  ])('of the kind %s decides by its own rule', async (kind, rule, decision) => {
    const rego = `package svc.${kind}\n\nimport rego.v1\n\n${rule}\n`;
    expect((await evaluate({ kind, rego, input: {} })).body).toMatchObject({ decision, reasons: [] });
  });

  it('about findings needs the scope to read them', async () => {
    const { records } = await seedFindings(org, [{}]);
    const rego = triage('seen := input');
    const ask = async (key: string) => [
      await request('POST', '/api/policies/evaluate', {
        key,
        body: { kind: 'triage', rego, finding_ids: [toOpaque('finding', records[0]?.id ?? '')] },
      }),
      await request('POST', `/api/orgs/${org.orgId}/open-policies/test-inline`, {
        key,
        body: { kind: 'triage', rego, finding_ids: [records[0]?.id] },
      }),
    ];
    const [writer, both] = [
      await org.withKey('policies:write'),
      await org.withKey('policies:write', 'findings:read'),
    ];
    for (const { status, body } of await ask(writer.key)) {
      expect(status).toBe(403);
      expect(JSON.stringify(body)).toContain('findings:read');
    }
    for (const { status } of await ask(both.key)) expect(status).toBe(200);
  });

  it('takes the current version of a stored policy, active or not', async () => {
    const made = await create(triage('decision := "accept"'));
    await org.client.call(operations.updatePolicy, {
      params: { policy_id: made.id },
      body: { rego: triage('decision := "reject"\n\nreasons contains "a"\n\nreasons contains "b"') },
    });
    const { body } = await evaluate({ policy_id: made.id, input: {} });
    expect(body).toMatchObject({ decision: 'reject', reasons: ['a', 'b'], policy_id: made.id, version: 2 });
  });

  it('judges real findings as the API shows them, with numbers that are never null', async () => {
    const project = await org.client.call(projects.operations.createProject, { body: { name: name() } });
    const { records, asset } = await seedFindings(
      org,
      [
        { severity: 'high' },
        { severity: 'low', epss_score: 0.9, location: { path: 'x', start_line: null, end_line: null } },
      ],
      { project_id: fromOpaque('project', project.id) },
    );
    const rego = triage(
      'decision := input.finding.severity\n\nresult := object.union(input, {"low": input.finding.epss_score < 0.5})',
    );
    const finding_ids = records.map(({ id }) => toOpaque('finding', id)).reverse();
    const { status, body } = await evaluate({ kind: 'triage', rego, finding_ids });
    expect(status).toBe(200);
    expect(body.pagination).toEqual({ page: 1, per_page: 2, total: 2 });
    expect(body.data).toMatchObject([
      {
        finding_id: finding_ids[0],
        decision: 'low',
        result: {
          result: {
            low: false,
            finding: { epss_score: 0.9, cvss_score: 0, location: { start_line: 0 } },
          },
        },
      },
      {
        finding_id: finding_ids[1],
        decision: 'high',
        result: {
          result: {
            low: true,
            finding: { id: finding_ids[1], epss_score: 0, epss_percentile: 0, status: 'open' },
            asset: { id: toOpaque('asset', asset.id), name: asset.name },
            project: { id: project.id },
            organization: { id: toOpaque('organization', org.orgId), name: 'Test organization' },
            scan: null,
          },
        },
      },
    ]);
  });

  it('tells of each finding whether it could be judged', async () => {
    const { records } = await seedFindings(org, [{ severity: 'high' }, { severity: 'info' }]);
    const rego = triage(
      'decision := "a" if input.finding.title\n\ndecision := "b" if input.finding.severity == "info"',
    );
    const finding_ids = records.map(({ id }) => toOpaque('finding', id));
    const { body } = await evaluate({ kind: 'triage', rego, finding_ids });
    expect(body.data).toMatchObject([
      { decision: 'a', error: null },
      { decision: null, result: null, error: { code: 'policy_conflict' } },
    ]);
  });

  it.each([
    [
      'priority',
      'priority := "urgent"',
      'urgent',
      'priority must be p0 to p4 or a number up to 2^53, not "urgent"',
    ],
    ['priority', 'priority := 1e400', null, 'priority must be p0 to p4 or a number up to 2^53, not Infinity'],
    ['ownership', 'owner := ""', '', 'owner must be a text that is not empty, not ""'],
    ['triage', 'decision := true', true, 'decision must be a text that is not empty, not true'],
    ['pr_scan', 'decision := "accept"', 'accept', 'decision must be pass, warn or fail, not "accept"'],
  ])('says of the kind %s that %s can’t be used, as judging does', async (kind, rule, decision, message) => {
    const rego = `package svc.${kind}\n\nimport rego.v1\n\n${rule}\n`;
    const error = { code: 'policy_evaluation_error', message, row: null, col: null };
    const one = await evaluate({ kind, rego, input: {} });
    expect(one.status).toBe(200);
    expect(one.body).toMatchObject({ decision, error });
    const { records } = await seedFindings(org, [{}]);
    const finding_ids = records.map(({ id }) => toOpaque('finding', id));
    expect((await evaluate({ kind, rego, finding_ids })).body.data).toMatchObject([{ decision, error }]);
  });

  it('refuses what names nothing, too much or too little', async () => {
    const rego = triage('decision := "accept"');
    for (const [body, status, code, field] of [
      [{}, 400, 'missing_field', 'policy_id'],
      [{ kind: 'triage', input: {} }, 400, 'missing_field', 'rego'],
      [{ rego, input: {} }, 400, 'missing_field', 'kind'],
      [{ kind: 'triage', rego }, 400, 'missing_field', 'input'],
      [
        { kind: 'triage', rego, input: {}, finding_ids: [toOpaque('finding', randomUUID())] },
        400,
        'validation_error',
        'input',
      ],
      [
        { kind: 'triage', rego, policy_id: toOpaque('policy', randomUUID()), input: {} },
        400,
        'validation_error',
        'policy_id',
      ],
      [{ kind: 'x', rego, input: {} }, 400, 'invalid_policy_kind', 'kind'],
      [{ policy_id: toOpaque('policy', randomUUID()), input: {} }, 404, 'not_found', 'policy_id'],
      [
        { kind: 'triage', rego, finding_ids: [toOpaque('finding', randomUUID())] },
        404,
        'not_found',
        'finding_ids',
      ],
      [{ kind: 'triage', rego: 'package svc.triage\nx :=', input: {} }, 422, 'rego_parse_error', 'line 2'],
      [{ kind: 'priority', rego, input: {} }, 422, 'invalid_package', 'line 1'],
      [{ kind: 'triage', rego: triage('x := y'), input: {} }, 422, 'rego_compile_error', 'line 5'],
      [
        { kind: 'triage', rego: triage('x := 1 if input\n\nx := 2 if input'), input: {} },
        422,
        'policy_conflict',
        'line 7',
      ],
    ] as const) {
      const answer = await evaluate(body);
      const details = answer.body.error?.details as { field: string }[];
      expect(
        [answer.status, answer.body.error?.code, details?.[0]?.field],
        JSON.stringify(answer.body),
      ).toEqual([status, code, field]);
    }
  });

  it('ends what runs away or takes too much memory, and nobody else’s', async () => {
    const quick = { kind: 'triage', rego: triage('decision := "accept"'), input: {} };
    const runaway = triage(
      'decision := count([1 | some i in numbers.range(1, 1000); some j in numbers.range(1, 100000); i * j == -1])',
    );
    const hungry = triage('decision := count([x | x := numbers.range(1, 3000000)[_]])');
    const answers = await Promise.all([
      evaluate({ kind: 'triage', rego: runaway, input: {} }),
      evaluate(quick),
      evaluate({ kind: 'triage', rego: hungry, input: {} }),
      evaluate(quick),
    ]);
    expect(answers.map(({ status, body }) => body.error?.code ?? status)).toEqual([
      'policy_evaluation_error',
      200,
      'policy_evaluation_error',
      200,
    ]);
    expect(answers[0]?.status).toBe(422);
    expect(answers[0]?.body.error).toMatchObject({
      message: 'The evaluation took longer than its limit of 2000 ms',
      details: [{ field: 'rego', message: expect.any(String) }],
    });
    expect(JSON.stringify(answers[0]?.body)).not.toContain('"row"');
  });

  it('is limited to 120 calls a minute', async () => {
    // The service under test has all limits times a thousand.
    const answer = await evaluate({});
    expect(answer.headers.get('x-ratelimit-limit')).toBe('120000');
  });
});

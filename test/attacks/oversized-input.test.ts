import { beforeAll, expect } from 'vitest';
import { measureJson } from '#shared/json/measure.ts';
import { attack } from '#test/harness/attack.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const post = (path: string, text: string, headers: Record<string, string> = {}) =>
  request('POST', path, { key: org.accessToken, text, headers });
const objects = (count: number) => `[{}${',{}'.repeat(count - 1)}]`;
const REGO = JSON.stringify('package svc.triage\nimport rego.v1\ndecision := "accept"');

attack('oversized input', 'got through', 'a megabyte of empty objects in a body', async () => {
  const text = `{"name":"x","more":${objects(300_000)}}`;
  expect(text.length).toBeLessThan(1024 * 1024);
  expect(await post('/api/projects', text)).toMatchObject({
    status: 413,
    body: { error: { code: 'payload_too_large', message: 'The request body holds more than 50000 values' } },
  });
  expect(await post(`/api/orgs/${org.orgId}/projects`, text)).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ['body'], type: 'too_long' }] },
  });
});

attack('oversized input', 'got through', 'the same as a policy’s input, in both families', async () => {
  const evaluated = `{"kind":"triage","rego":${REGO},"input":{"finding":${objects(300_000)}}}`;
  expect(await post('/api/policies/evaluate', evaluated)).toMatchObject({ status: 413 });
  expect(await post(`/api/orgs/${org.orgId}/open-policies/test-inline`, evaluated)).toMatchObject({
    status: 422,
  });
  const names = Array.from({ length: 60_000 }, (_, nth) => `"n${nth}":0`).join();
  expect(
    await post('/api/policies/evaluate', `{"kind":"triage","rego":${REGO},"input":{${names}}}`),
  ).toMatchObject({
    status: 413,
  });
});

attack('oversized input', 'held', 'a policy’s input that is large, but allowed', async () => {
  const input = `{"finding":${objects(20_000)}}`;
  expect(
    await post('/api/policies/evaluate', `{"kind":"triage","rego":${REGO},"input":${input}}`),
  ).toMatchObject({
    status: 200,
    body: { decision: 'accept' },
  });
});

attack('oversized input', 'held', 'a body of more than a megabyte, whatever is in it', async () => {
  const text = (size: number) => `{"name":"${'x'.repeat(size)}"}`;
  expect(await post('/api/projects', text(1_100_000))).toMatchObject({ status: 413 });
  expect(await post('/api/projects', text(5_000_000))).toMatchObject({ status: 413 });
});

attack('oversized input', 'held', 'a body that is nested without end', async () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const)
    expect(await post('/api/projects', `{"name":${open.repeat(150_000)}${close.repeat(100)}}`)).toMatchObject(
      {
        status: 400,
        body: { error: { code: 'invalid_json' } },
      },
    );
});

attack('oversized input', 'held', 'one text of a million characters in every kind of field', async () => {
  const long = 'a'.repeat(1_000_000);
  for (const [path, body] of [
    ['/api/auth/login', { email: `${long}@example.com`, password: 'x' }],
    ['/api/auth/login', { email: 'a@example.com', password: long }],
    ['/api/projects', { name: long }],
    ['/api/projects', { name: '{}'.repeat(400_000) }],
    ['/api/policies', { name: 'x', kind: long, rego: 'x' }],
    [`/api/orgs/${org.orgId}/assets/repositories`, { name: 'x', url: `https://${long}` }],
  ] as const) {
    const { status } = await post(path, JSON.stringify(body));
    expect([path, status >= 400 && status < 500]).toEqual([path, true]);
  }
});

attack('oversized input', 'held', 'values that a text only looks like', () => {
  const most = { depth: 100, values: 1000 };
  expect(
    measureJson(JSON.stringify({ text: '[{,'.repeat(5000), quote: '\\",[['.repeat(500) }), most),
  ).toEqual({
    depth: 1,
    values: 3,
  });
});

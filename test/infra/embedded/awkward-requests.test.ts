import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Gateway, openGateway } from '#infra/local/gateway.ts';
import { API_REQUESTS } from '#test/harness/awkward/api-requests.ts';
import { differencesAt, type GatewayUnderTest } from '#test/harness/awkward/compare.ts';
import { answerDifferences, atTheApi, statusAt } from '#test/harness/awkward/compare-answers.ts';
import { echo } from '#test/harness/awkward/echo.ts';
import { AWKWARD_REQUESTS, ECHO_ROUTES } from '#test/harness/awkward/requests.ts';
import { SOURCES } from '#test/harness/awkward/sources.ts';
import { createTestOrganization } from '#test/harness/organization.ts';

const atUrl = (url: string): GatewayUnderTest => ({
  port: Number(new URL(url).port),
  host: new URL(url).host,
});

describe('the embedded gateway makes of a request what is written', () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await openGateway(0);
    gateway.serve(
      ECHO_ROUTES.map((key) => ({ key, functionName: 'echo', authorizer: null })),
      { invoke: async (_, event) => echo(event as APIGatewayProxyEventV2) },
    );
  });
  afterAll(() => gateway.close());

  for (const request of AWKWARD_REQUESTS)
    it(`${request.name} (${request.from.map((source) => SOURCES[source]).join('; ')})`, async () => {
      expect(await differencesAt(atUrl(gateway.url), request)).toEqual([]);
    });
});

describe('behind it, the API', () => {
  let token: string;
  beforeAll(async () => {
    token = (await createTestOrganization()).accessToken;
  });

  for (const request of API_REQUESTS)
    it(`answers ${request.line.slice(0, 60)} (${request.name}) with ${request.code ?? request.status}`, async () => {
      expect(await answerDifferences(atUrl(inject('service').url), request, token)).toEqual([]);
    });

  it('fails at no awkward request', async () => {
    const failed: [name: string, status: number | null][] = [];
    for (const request of AWKWARD_REQUESTS) {
      const status = await statusAt(atUrl(inject('service').url), atTheApi(request), token);
      if (status === null || status >= 500) failed.push([request.name, status]);
    }
    expect(failed).toEqual([]);
  });
});

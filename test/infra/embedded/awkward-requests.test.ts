import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, openGateway } from '#infra/local/gateway.ts';
import { differencesAt } from '#test/harness/awkward/compare.ts';
import { echo } from '#test/harness/awkward/echo.ts';
import { AWKWARD_REQUESTS, ECHO_ROUTES } from '#test/harness/awkward/requests.ts';
import { SOURCES } from '#test/harness/awkward/sources.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await openGateway(0);
  gateway.serve(
    ECHO_ROUTES.map((key) => ({ key, functionName: 'echo', authorizer: null })),
    { invoke: async (_, event) => echo(event as APIGatewayProxyEventV2) },
  );
});
afterAll(() => gateway.close());

describe('the embedded gateway makes of a request what is written', () => {
  for (const request of AWKWARD_REQUESTS)
    it(`${request.name} (${request.from.map((source) => SOURCES[source]).join('; ')})`, async () => {
      const { port, host } = new URL(gateway.url);
      expect(await differencesAt({ port: Number(port), host }, request)).toEqual([]);
    });
});

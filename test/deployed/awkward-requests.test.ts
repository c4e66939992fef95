import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { API_REQUESTS } from '#test/harness/awkward/api-requests.ts';
import { differencesAt, type GatewayUnderTest } from '#test/harness/awkward/compare.ts';
import { answerDifferences, atTheApi, statusAt } from '#test/harness/awkward/compare-answers.ts';
import { AWKWARD_REQUESTS } from '#test/harness/awkward/requests.ts';
import { createTestOrganization } from '#test/harness/organization.ts';
import { deployEchoApi } from './echo-api.ts';
import { ANSWER_DIFFERENCES, DifferenceList, EVENT_DIFFERENCES } from './gateway-differences.ts';

// The embedded gateway is held to the same requests by test/infra/embedded/awkward-requests.test.ts.

const { endpoint, apiHost } = inject('deployment');
const port = Number(new URL(endpoint).port);

describe('the emulated gateway makes of a request what is written, but for what is named', () => {
  const list = new DifferenceList(EVENT_DIFFERENCES);
  let gateway: GatewayUnderTest;
  beforeAll(async () => {
    gateway = { port, host: await deployEchoApi(endpoint) };
  });
  afterAll(() => console.log(`Events of the emulated gateway that differ from AWS's:\n${list.table()}`));

  for (const request of AWKWARD_REQUESTS)
    it(request.name, async () => {
      expect(list.unnamed(await differencesAt(gateway, request))).toEqual([]);
    });

  it('and each named difference is there', () => expect(list.gone()).toEqual([]));
});

describe('behind it, the API answers as behind the embedded one, but for what is named', () => {
  const list = new DifferenceList(ANSWER_DIFFERENCES);
  const gateway = { port, host: apiHost };
  let token: string;
  beforeAll(async () => {
    token = (await createTestOrganization()).accessToken;
  });
  afterAll(() =>
    console.log(`Answers of the deployed API that differ from the embedded one's:\n${list.table()}`),
  );

  for (const request of API_REQUESTS)
    it(`${request.line.slice(0, 60)} (${request.name})`, async () => {
      expect(list.unnamed(await answerDifferences(gateway, request, token))).toEqual([]);
    });

  it('and each named difference is there', () => expect(list.gone()).toEqual([]));

  it('and fails at no awkward request', async () => {
    const failed: [name: string, status: number | null][] = [];
    for (const request of AWKWARD_REQUESTS) {
      // A way of transfer that its server does not know is a 501 of the server's own.
      if (request.name === 'an unknown way of transfer') continue;
      const status = await statusAt(gateway, atTheApi(request), token);
      if (status === null || status >= 500) failed.push([request.name, status]);
    }
    expect(failed).toEqual([]);
  });
});

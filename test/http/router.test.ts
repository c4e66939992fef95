import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRouter } from '#http/router.ts';
import { specifiedOperations } from '#test/harness/specified-operations.ts';

const ID = '0199c0de-5eed-7000-a000-0000000000aa';
const fill = (path: string) => path.replaceAll(/\{\w+\}/g, ID);

/** Which declared path a request resolves to, and with which parameters. */
function resolve(
  router: ReturnType<typeof createRouter<(typeof specifiedOperations)[number]>>,
  method: string,
  path: string,
) {
  const match = router.match(method, path);
  return match && 'route' in match ? { path: match.route.path, params: match.params } : match;
}

describe('the router', () => {
  it('resolves every operation of the specification, in whatever order they are registered', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(specifiedOperations, { minLength: 115 }), (shuffled) => {
        const router = createRouter(shuffled);
        for (const operation of specifiedOperations)
          expect(resolve(router, operation.method, fill(operation.path))).toMatchObject({
            path: operation.path,
          });
      }),
      { numRuns: 25 },
    );
  });

  const router = createRouter(specifiedOperations);

  it.each([
    ['GET', `/api/orgs/${ID}/${ID}/members`, '/api/orgs/{org_id}/{project_id}/members'],
    ['GET', `/api/orgs/${ID}/teams/${ID}`, '/api/orgs/{org_id}/teams/{team_id}'],
    // A literal wins over a parameter at the first place where the paths differ.
    ['GET', `/api/orgs/${ID}/teams/members`, '/api/orgs/{org_id}/teams/{team_id}'],
    ['GET', '/api/findings/summary', '/api/findings/summary'],
    ['GET', '/api/findings/f_1', '/api/findings/{finding_id}'],
    ['POST', '/api/policies/evaluate', '/api/policies/evaluate'],
    ['GET', `/api/orgs/${ID}/integrations/github`, '/api/orgs/{org_id}/integrations/github'],
    ['GET', `/api/orgs/${ID}/discover/schema`, '/api/orgs/{org_id}/discover/schema'],
  ])('%s %s goes to %s', (method, path, expected) => {
    expect(resolve(router, method, path)).toMatchObject({ path: expected });
  });

  it('answers the two paths with a slash at the end with and without it, and no other', () => {
    expect(resolve(router, 'POST', '/api/orgs/')).toMatchObject({ path: '/api/orgs/' });
    expect(resolve(router, 'POST', '/api/orgs')).toMatchObject({ path: '/api/orgs/' });
    expect(resolve(router, 'GET', `/api/orgs/${ID}/teams/`)).toMatchObject({
      path: '/api/orgs/{org_id}/teams/',
    });
    expect(resolve(router, 'GET', `/api/orgs/${ID}/teams`)).toMatchObject({
      path: '/api/orgs/{org_id}/teams/',
    });
    expect(router.match('GET', '/api/projects/')).toBeNull();
  });

  it('tells the methods of a known path', () => {
    expect(router.match('PUT', '/api/projects')).toEqual({ allowed: ['GET', 'POST'] });
    expect(router.match('DELETE', '/api/findings/summary')).toEqual({ allowed: ['GET'] });
  });

  it('decodes parameters, and survives malformed escapes', () => {
    expect(resolve(router, 'GET', '/api/findings/a%20b')).toMatchObject({ params: { finding_id: 'a b' } });
    expect(resolve(router, 'GET', '/api/findings/%zz')).toMatchObject({ params: { finding_id: '%zz' } });
  });
});

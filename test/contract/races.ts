import { toOpaque } from '#domain/ids.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { type RawAnswer, request } from '#test/harness/http.ts';
import type { TestOrganization } from '#test/harness/organization.ts';
import { id, name, newRepository, send } from './provocations.ts';

/** Requests that go out together; `go` sends the one of that number. */
interface Start {
  readonly runners?: number;
  go(number: number): Promise<RawAnswer>;
}

const RUNNERS = 12;
/** One round does for most; a deletion has to be read by two before either writes. */
const ROUNDS = 40;

/**
 * Changes of one record at once, in as many rounds as it takes until one of them comes too late.
 * @returns every answer of the last round and of those before it
 */
export async function raceUntilConflict(
  prepare: (org: TestOrganization) => Promise<Start>,
  org: TestOrganization,
): Promise<RawAnswer[]> {
  const answers: RawAnswer[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { runners = RUNNERS, go } = await prepare(org);
    const together = Array.from({ length: runners }, (_, number) => go(number));
    const finished = await Promise.all(together);
    answers.push(...finished);
    if (finished.some(({ body }) => body.error?.code === 'conflict')) break;
  }
  return answers;
}

/** Two projects that an asset can be moved between; UUIDs. */
async function twoProjects(org: TestOrganization): Promise<string[]> {
  const make = () => send(org, 'POST', `/api/orgs/${org.orgId}/projects`, { name: name() });
  return [id(await make()), id(await make())];
}

/** The record of an organization that a POST to `path` makes, and how it is asked for. */
async function made(org: TestOrganization, path: string, body: object = {}) {
  const record = await send(org, 'POST', `/api/orgs/${org.orgId}${path}`, { name: name(), ...body });
  return `/api/orgs/${org.orgId}${path.replace(/\/$/, '')}/${id(record)}`;
}

async function finding(org: TestOrganization): Promise<string> {
  const { records } = await seedFindings(org, [{}]);
  return `/api/findings/${toOpaque('finding', records[0]?.id ?? '')}`;
}

const INTEGRATION = { type: 'github', config: {} };

/** By operation: its `conflict`, for which requests have to meet. */
export const RACES: Readonly<Record<string, (org: TestOrganization) => Promise<Start>>> = {
  async changePassword(org) {
    const key = await org.signInAs('Viewer');
    const body = () => ({ current_password: org.admin.password, new_password: name() });
    // Each takes two rounds of argon2.
    return {
      runners: 4,
      go: () => request('POST', '/api/auth/password', { key, body: body() }),
    };
  },
  async updateOrganization(org) {
    return { go: () => send(org, 'PATCH', `/api/orgs/${org.orgId}`, { name: name() }) };
  },
  async updateTeam(org) {
    const path = await made(org, '/teams/');
    return { go: () => send(org, 'PATCH', path, { description: name() }) };
  },
  async deleteTeam(org) {
    const path = await made(org, '/teams/');
    return { go: () => send(org, 'DELETE', path) };
  },
  async updateOrgProject(org) {
    const path = await made(org, '/projects');
    return { go: () => send(org, 'PATCH', path, { description: name() }) };
  },
  async updateProject(org) {
    const project = id(await send(org, 'POST', '/api/projects', { name: name() }));
    return { go: () => send(org, 'PATCH', `/api/projects/${project}`, { description: name() }) };
  },
  async assignProjectAssets(org) {
    const asset = toOpaque('asset', await newRepository(org));
    const projects = (await twoProjects(org)).map((project) => toOpaque('project', project));
    return {
      go: (number) =>
        send(org, 'POST', `/api/projects/${projects[number % 2]}/assets`, { asset_ids: [asset] }),
    };
  },
  async linkRepository(org) {
    const path = `/api/orgs/${org.orgId}/repositories/${await newRepository(org)}/link`;
    const projects = await twoProjects(org);
    return { go: (number) => send(org, 'POST', path, { project_id: projects[number % 2] }) };
  },
  async unlinkRepository(org) {
    const path = `/api/orgs/${org.orgId}/repositories/${await newRepository(org)}`;
    const [project] = await twoProjects(org);
    await send(org, 'POST', `${path}/link`, { project_id: project });
    return { go: () => send(org, 'POST', `${path}/unlink`) };
  },
  async updateAsset(org) {
    const path = `/api/assets/${toOpaque('asset', await newRepository(org))}`;
    return { go: () => send(org, 'PATCH', path, { tags: [name()] }) };
  },
  async updateIntegration(org) {
    const path = await made(org, '/integrations', INTEGRATION);
    return { go: () => send(org, 'PATCH', path, { name: name() }) };
  },
  async deleteIntegration(org) {
    const path = await made(org, '/integrations', INTEGRATION);
    return { go: () => send(org, 'DELETE', path) };
  },
  // Decided anew six times before somebody gives up.
  async updateFinding(org) {
    const path = await finding(org);
    return { runners: 20, go: () => send(org, 'PATCH', path, { notes: name() }) };
  },
  async suppressFinding(org) {
    const path = await finding(org);
    return {
      runners: 20,
      go: () => send(org, 'POST', `${path}/suppress`, { reason: 'false_positive', comment: name() }),
    };
  },
};

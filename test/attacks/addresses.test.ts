import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { readClonePlace } from '#domain/clone-url.ts';
import { type CloneRequest, cloneRepository } from '#functions/scanner-runner/clone.ts';
import { CloneError } from '#functions/scanner-runner/clone-failure.ts';
import { openEgress } from '#functions/scanner-runner/egress.ts';
import { throughProxy } from '#functions/scanner-runner/environment.ts';
import { scanCheckout } from '#functions/scanner-runner/scan-checkout.ts';
import { createHostCheck } from '#shared/network/named-hosts.ts';
import type { NameLookup } from '#shared/network/resolve.ts';
import { attack } from '#test/harness/attack.ts';
import { serveGit } from '#test/harness/git-server.ts';
import { startHttpServer } from '#test/harness/http-server.ts';
import { startNameServer } from '#test/harness/name-server.ts';
import { prepareScannerDatabases } from '#test/harness/scanner-databases.ts';
import { commitFiles, git } from '#test/harness/vulnerable-repository.ts';

let root: string;
let commit: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'addresses-'));
  await git(root, 'init', '--quiet', '--initial-branch=trunk', join(root, 'service'));
  commit = await commitFiles(join(root, 'service'), { 'a.txt': 'one\n' }, 'one');
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** What somebody may have in mind who names an address: all of them lead to this machine, its network or its cloud. */
const HOSTS: readonly (readonly ['held' | 'got through', string])[] = [
  ['held', 'localhost'],
  ['held', 'LOCALHOST.'],
  ['held', 'git.localhost'],
  ['held', '127.0.0.1'],
  ['held', '127.1'],
  ['held', '0x7f.1'],
  ['held', '0177.0.0.1'],
  ['held', '2130706433'],
  ['held', '0.0.0.0'],
  ['held', '10.1.2.3'],
  ['held', '100.64.0.1'],
  ['held', '169.254.169.254'],
  ['held', '192.168.0.1'],
  ['held', '[::]'],
  ['held', '[::1]'],
  ['held', '[::ffff:10.0.0.1]'],
  ['held', '[64:ff9b::a9fe:a9fe]'],
  ['held', '[fd00:ec2::254]'],
  ['held', '[fe80::1]'],
  ['held', '[ff02::1]'],
  ['held', 'metadata.google.internal'],
  ['got through', 'localhost..'],
  ['got through', 'localhost.localdomain'],
  ['got through', 'printer.lan'],
  ['got through', '192.0.2.1'],
  ['got through', '[::127.0.0.1]'],
  ['got through', '[::ffff:0:127.0.0.1]'],
  ['got through', '[2002:7f00:1::]'],
  ['got through', '[2002:a9fe:a9fe::1]'],
  ['got through', '[2001:0:1:2:3:4:80ff:fffe]'],
  ['got through', '[64:ff9b:1::7f00:1]'],
  ['got through', '[fec0::1]'],
  ['got through', '[2001:db8::1]'],
  ['got through', '[4000::1]'],
  ['got through', '168.63.129.16'],
];

describe('an address that is named', () => {
  for (const [history, host] of HOSTS) {
    attack('addresses', history, `${host} as a repository, a webhook or an issue tracker`, async () => {
      const url = `http://${host}/x.git`;
      expect(readClonePlace(url, { local: false, reachable: 'public' })).toEqual({
        problem: expect.stringMatching(/^must not point at a private/),
      });
      expect(await createHostCheck('public')(new URL(url).hostname)).toBe(false);
    });
  }

  attack('addresses', 'got through', 'names that the DNS leads to private addresses', async () => {
    await using names = await startNameServer({
      'public.test': '93.184.215.14',
      'loop.test': '127.0.0.1',
      'closed.test': '10.0.0.7',
      'metadata.test': '169.254.169.254',
    });
    const mayUse = createHostCheck('public', [names.address]);
    expect(await mayUse('public.test')).toBe(true);
    for (const name of ['loop.test', 'LOOP.test.', 'closed.test', 'metadata.test'])
      expect([name, await mayUse(name)]).toEqual([name, false]);
    // One that nobody knows may be made tomorrow: it is judged when it is called.
    expect(await mayUse('tomorrow.test')).toBe(true);
    expect(await createHostCheck(['10.0.0.0/8'], [names.address])('closed.test')).toBe(true);
  });

  attack('addresses', 'got through', 'metadata services, where private networks are allowed', async () => {
    for (const host of ['169.254.169.254', '[fd00:ec2::254]', '100.100.100.200', 'metadata.google.internal'])
      expect([host, await createHostCheck('all')(host)]).toEqual([host, false]);
  });
});

async function clone(request: Partial<CloneRequest> & { url: string }) {
  return cloneRepository({
    into: await mkdtemp(join(root, 'into-')),
    protocols: ['http', 'https'],
    ...request,
  });
}

async function failure(request: Partial<CloneRequest> & { url: string }): Promise<CloneError> {
  const outcome = await clone(request).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(CloneError);
  return outcome as CloneError;
}

const nameOf =
  (addresses: readonly string[]): NameLookup =>
  async () =>
    addresses;

describe('a clone', () => {
  attack('addresses', 'got through', 'of a name that leads to this machine', async () => {
    await using server = await startHttpServer(serveGit(root));
    const url = `http://public.test:${server.port}/service/.git`;
    await failure({ url, network: { policy: 'public', names: nameOf(['127.0.0.1']) } });
    // One of several is enough: which one is taken is not the caller's to know.
    await failure({ url, network: { policy: 'public', names: nameOf(['93.184.215.14', '127.0.0.1']) } });
    expect(server.asked).toEqual([]);
    // The same name, where its network is allowed: the connection goes to what was judged, nothing else knows it.
    const network = { policy: ['127.0.0.0/8'], names: nameOf(['127.0.0.1']) };
    expect(await clone({ url, network })).toMatchObject({ commit, branch: 'trunk' });
  });

  attack('addresses', 'got through', 'of a name that the DNS answers otherwise the second time', async () => {
    await using first = await startHttpServer(serveGit(root));
    const answers = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    let asked = 0;
    const names: NameLookup = async () => [answers[Math.min(asked++, 2)] ?? ''];
    const url = `http://rebinding.test:${first.port}/service/.git`;
    await failure({ url, network: { policy: ['127.0.0.1'], names } });
    // Each connection was made to an address that was judged for it.
    expect(first.asked.length).toBeGreaterThan(0);
    expect(asked).toBeGreaterThan(1);
  });

  attack('addresses', 'got through', 'that is redirected to what may not be reached', async () => {
    await using inner = await startHttpServer(serveGit(root), '127.0.0.2');
    let target = `http://127.0.0.2:${inner.port}`;
    await using outer = await startHttpServer((request, response) => {
      response.writeHead(301, { location: `${target}${request.url}` }).end();
    });
    const url = `http://127.0.0.1:${outer.port}/service/.git`;
    await failure({ url, network: { policy: ['127.0.0.1'] } });
    expect(inner.asked).toEqual([]);
    target = 'http://169.254.169.254';
    await failure({ url, network: { policy: 'all' } });
    // A repository that moved is found where it is now.
    target = `http://127.0.0.2:${inner.port}`;
    expect(await clone({ url, network: { policy: ['127.0.0.0/8'] } })).toMatchObject({ commit });
  });

  attack('addresses', 'held', 'whose server names another one for its objects', async () => {
    await using inner = await startHttpServer((_, response) => response.writeHead(404).end(), '127.0.0.2');
    await using outer = await startHttpServer((request, response) => {
      const path = new URL(request.url ?? '/', 'http://x').pathname;
      const file = {
        '/x/info/refs': `${commit}\trefs/heads/main\n`,
        '/x/HEAD': 'ref: refs/heads/main\n',
        '/x/objects/info/http-alternates': `http://127.0.0.2:${inner.port}/y/objects\n`,
        '/x/objects/info/alternates': `/y/objects\n`,
      }[path];
      response.writeHead(file === undefined ? 404 : 200).end(file);
    });
    // Only a clone with its history speaks the old protocol, in which a server is a folder of files.
    const url = `http://127.0.0.1:${outer.port}/x`;
    await failure({ url, history: true, network: { policy: ['127.0.0.1'] } });
    expect(outer.asked).toContain('GET /x/objects/info/http-alternates');
    expect(inner.asked).toEqual([]);
  });

  attack('addresses', 'got through', 'that maps a network by what its failures say', async () => {
    await using notFound = await startHttpServer((_, response) => response.writeHead(404).end());
    await using guarded = await startHttpServer((_, response) =>
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end(),
    );
    await using broken = await startHttpServer((_, response) => response.writeHead(500).end());
    await using other = await startHttpServer((_, response) => response.end('<html>not git</html>'));
    const babbler = createServer((socket) => socket.resume().end('220 mail.test ESMTP\r\n'));
    await new Promise<void>((resolve) => babbler.listen(0, '127.0.0.1', resolve));
    const babbling = (babbler.address() as AddressInfo).port;
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const closedPort = (closed.address() as AddressInfo).port;
    await new Promise((resolve) => closed.close(resolve));

    const messages = new Set<string>();
    const reachable = { policy: ['127.0.0.1'] };
    for (const [port, network] of [
      [notFound.port, reachable],
      [guarded.port, reachable],
      [broken.port, reachable],
      [other.port, reachable],
      [babbling, reachable],
      [closedPort, reachable],
      [closedPort, { policy: 'public' as const }],
    ] as const) {
      for (const scheme of ['http', 'https']) {
        const url = `${scheme}://127.0.0.1:${port}/x.git`;
        messages.add((await failure({ url, network })).message.replaceAll(url, 'URL'));
      }
    }
    const unknown = 'http://nobody.test/x.git';
    messages.add((await failure({ url: unknown })).message.replaceAll(unknown, 'URL'));
    await new Promise((resolve) => babbler.close(resolve));
    expect([...messages]).toEqual([expect.stringMatching(/^Nothing at URL could be cloned/)]);
  });

  attack('addresses', 'got through', "that is offered the operator's own passwords", async () => {
    const seen = new Set<string | undefined>();
    await using server = await startHttpServer((request, response) => {
      seen.add(request.headers.authorization);
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
    });
    const home = await mkdtemp(join(root, 'home-'));
    await writeFile(join(home, '.netrc'), 'machine 127.0.0.1 login operator password hush\n');
    await writeFile(join(home, '.git-credentials'), `http://operator:hush@127.0.0.1:${server.port}\n`);
    await writeFile(join(home, '.gitconfig'), '[credential]\n\thelper = store\n');
    const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home };
    const url = `http://127.0.0.1:${server.port}/x.git`;
    await failure({ url, env, network: { policy: 'all' } });
    expect([...seen]).toEqual([undefined]);
  });

  attack('addresses', 'got through', 'over ssh, with the keys of whoever runs the service', async () => {
    for (const url of ['ssh://git@127.0.0.1/x.git', 'git@127.0.0.1:x.git'])
      expect((await failure({ url })).message).toMatch(/^ssh addresses can't be scanned here/);
  });
});

describe('a scanner', () => {
  attack('addresses', 'got through', 'that is led out by what the repository names', async () => {
    await using server = await startHttpServer((_, response) => response.writeHead(404).end());
    const here = `127.0.0.1:${server.port}`;
    const folder = await mkdtemp(join(root, 'hostile-'));
    await git(folder, 'init', '--quiet');
    await commitFiles(folder, hostileFiles(here), 'hostile');
    const databases = await prepareScannerDatabases(join(root, 'databases'));
    await using egress = await disposable(openEgress({ policy: 'public' }));
    // As the runner sets them: databases are at hand, everything else is as it is with a network.
    const env = throughProxy({ ...process.env, ...databases }, egress.url);
    const outcomes = await scanCheckout({
      checkout: folder,
      scanners: ['trivy', 'grype', 'semgrep', 'gitleaks'],
      key: 'key of the organization',
      deadline: Date.now() + 600_000,
      env,
    });
    expect(outcomes.map(({ scanner, status }) => [scanner, status])).toEqual([
      ['trivy', 'completed'],
      ['grype', 'completed'],
      ['semgrep', 'completed'],
      ['gitleaks', 'completed'],
    ]);
    expect(server.asked).toEqual([]);
  });
});

/** Addresses wherever a build tool would follow them. */
function hostileFiles(here: string): Record<string, string> {
  return {
    'pom.xml': `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>a</groupId><artifactId>b</artifactId><version>1</version>
<parent><groupId>evil</groupId><artifactId>parent</artifactId><version>1</version></parent>
<repositories><repository><id>x</id><url>http://${here}/maven</url></repository></repositories>
<dependencies><dependency><groupId>evil</groupId><artifactId>q</artifactId><version>2</version></dependency></dependencies>
</project>`,
    'main.tf': `module "a" { source = "http://${here}/module.zip" }
module "b" { source = "git::http://${here}/module.git" }
module "c" { source = "s3::http://${here}/bucket/module.zip" }
`,
    'chart/Chart.yaml': `apiVersion: v2\nname: x\nversion: 0.1.0\ndependencies:\n- name: dep\n  version: 1.0.0\n  repository: http://${here}/charts\n`,
    'chart/templates/a.yaml': 'a: {{ .Values.x }}\n',
    '.npmrc': `registry=http://${here}/npm\n`,
    'pip.conf': `[global]\nindex-url = http://${here}/simple\n`,
    'trivy.yaml': `db:\n  repository: ${here}/db\nserver:\n  addr: http://${here}\n`,
    '.grype.yaml': `db:\n  update-url: http://${here}/listing.json\n  auto-update: true\ncheck-for-app-update: true\n`,
  };
}

async function disposable<Part extends { close(): Promise<void> }>(opening: Promise<Part>) {
  const part = await opening;
  return Object.assign(part, { [Symbol.asyncDispose]: () => part.close() });
}

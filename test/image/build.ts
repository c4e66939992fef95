import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Debian's own release that the Dockerfile's base is of. */
const SUITE = 'trixie';
const MIRROR = 'http://deb.debian.org/debian';
const BASE = `localhost/aspm-base:${SUITE}`;

/** buildah without a daemon and without namespaces: works as root on any machine. */
const BUILDAH = { ...process.env, BUILDAH_ISOLATION: 'chroot', STORAGE_DRIVER: 'vfs' };

/** @throws Error with what the program said */
export async function buildah(...args: string[]): Promise<string> {
  const { stdout } = await execute('buildah', args, { env: BUILDAH, maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

/** Carries a build out, step by step, with its output on the terminal. */
async function build(context: string, ...args: string[]): Promise<void> {
  const command = ['build', '--format', 'docker', '--layers', '--pull-never', '--build-arg', `BASE=${BASE}`];
  const child = spawn('buildah', [...command, ...args, context], { env: BUILDAH, stdio: 'inherit' });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`buildah build ${args.join(' ')} ended with ${code}`);
}

/** The image as it is built for this machine. */
export async function buildImage(context: string): Promise<string> {
  const name = 'localhost/aspm-scanner-runner:test';
  await build(context, '--tag', name);
  return name;
}

/** One stage, as this machine builds it for another processor. */
export async function buildStage(context: string, stage: string, architecture: string): Promise<string> {
  const name = `localhost/aspm-${stage}-${architecture}:test`;
  await build(context, '--target', stage, '--build-arg', `TARGETARCH=${architecture}`, '--tag', name);
  return name;
}

/** The file system of an image, for as long as `use` takes. */
export async function mounted<T>(image: string, use: (root: string) => Promise<T>): Promise<T> {
  const container = await buildah('from', '--pull-never', image);
  try {
    return await use(await buildah('mount', container));
  } finally {
    await buildah('rm', container);
  }
}

/**
 * Stands in for the base image of the registry: made of the same packages, from Debian itself. With the certificates
 * of this machine, and variables by which clients find them, so that a proxy that looks into TLS is none in the way.
 */
export async function makeBase(): Promise<void> {
  const known = await buildah('images', '--quiet', BASE).catch(() => '');
  if (known !== '') return;
  const root = join(homedir(), '.cache', 'aspm', `image-base-${SUITE}`);
  if (!existsSync(root)) {
    console.log(`Making a base image of Debian ${SUITE} …`);
    const partial = `${root}.partial`;
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial, { recursive: true });
    await execute('debootstrap', ['--variant=minbase', SUITE, partial, MIRROR], {
      maxBuffer: 64 * 1024 * 1024,
    });
    const certificates = '/etc/ssl/certs/ca-certificates.crt';
    await mkdir(join(partial, 'etc/ssl/certs'), { recursive: true });
    await cp(certificates, join(partial, certificates));
    const own = '/usr/local/share/ca-certificates';
    if (existsSync(own)) await cp(own, join(partial, own), { recursive: true });
    await rename(partial, root);
  }
  const container = await buildah('from', 'scratch');
  await buildah('add', '--quiet', container, root, '/');
  for (const name of ['NODE_EXTRA_CA_CERTS', 'PIP_CERT', 'SSL_CERT_FILE'])
    await buildah('config', '--env', `${name}=/etc/ssl/certs/ca-certificates.crt`, container);
  await buildah('commit', '--quiet', '--format', 'docker', container, BASE);
  await buildah('rm', container);
}

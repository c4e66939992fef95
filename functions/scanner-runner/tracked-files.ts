import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { extname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import * as z from 'zod';
import type { Scanner } from '#domain/vocabulary.ts';
import type { CheckoutGit } from './checkout-git.ts';
import { LARGEST_SCANNED_FILE } from './environment.ts';

export interface TrackedFile {
  readonly path: string;
  readonly bytes: number;
  /** A symbolic link: in the checkout it is a file that holds where it leads to. */
  readonly isLink: boolean;
}

/** The files of the checked out commit, those that were too large to be checked out included. */
export async function trackedFiles(git: CheckoutGit): Promise<TrackedFile[]> {
  const listing = (await git.ask('ls-tree', '-r', '-l', '-z', '--full-tree', 'HEAD')) ?? '';
  return listing.split('\0').flatMap((entry) => {
    const [, mode, bytes, path] = /^(\d+) blob [0-9a-f]+ +(\d+)\t(.*)$/s.exec(entry) ?? [];
    return path === undefined ? [] : [{ path, bytes: Number(bytes), isLink: mode === '120000' }];
  });
}

/** Semgrep's own limit (`--max-target-bytes`): what is larger it passes over, and says nothing. */
const LARGEST_FOR_SEMGREP = 1_000_000;
/** Trivy looks at so many bytes to tell whether a file is text. */
const HEAD = 300;
/** Files looked at between two turns of the event loop: about a millisecond's. */
const AT_ONCE = 50;

/** What is no text, and so is not looked at for that reason. */
const BINARY = new Set(
  'png jpg jpeg gif bmp ico webp tiff pdf zip gz tgz bz2 xz 7z rar tar jar war ear class so dll exe dylib a o lib bin dat db sqlite mp3 mp4 mov avi wav ogg webm woff woff2 ttf otf eot pyc wasm psd doc docx xls xlsx ppt pptx deb rpm node npy npz onnx pb parquet p12 pfx jks keystore'.split(
    ' ',
  ),
);
/** Lists of dependencies: two of the scanners read these, and find nothing in one that they can't parse. */
const DEPENDENCIES =
  /(?:lock|require[^/]*\.txt|packages?[^/]*\.json|composer\.json|pom\.xml|gradle|\.csproj|\.props|\.toml|\.mod|\.sum|pipfile|gemfile|\.gemspec)[^/]*$/i;
/** Of these, what is JSON and nothing else. */
const JSON_LOCKFILE =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|composer\.lock|Pipfile\.lock|packages\.lock\.json)$/;

const scannedBySemgrep = z.object({ paths: z.object({ scanned: z.array(z.string()) }) });

/**
 * Files that a scanner passes over without a word because of what they are called or how they are made, so that a
 * known finding in them would seem to be gone. What a scanner tells itself is not among them.
 * @param report as sanitised: Semgrep tells which files it has read
 */
export async function passedOver(
  scanner: Scanner,
  files: readonly TrackedFile[],
  checkout: string,
  report: unknown,
): Promise<string[]> {
  const scanned = scanner === 'semgrep' ? scannedBySemgrep.safeParse(report).data : undefined;
  if (scanned) {
    const read = new Set(scanned.paths.scanned);
    const found: string[] = [];
    for (const [number, { path, bytes, isLink }] of files.entries()) {
      if (isBinary(path)) continue;
      if (isLink || !read.has(path) || isReadOtherwise(join(checkout, path), path, bytes)) found.push(path);
      if (number % AT_ONCE === 0) await turn();
    }
    return found;
  }
  const isOut = ({ bytes, isLink }: TrackedFile) =>
    bytes > limitOf(scanner) || (isLink && scanner !== 'gitleaks');
  const tooLarge = files.filter(isOut).map(({ path }) => path);
  if (scanner === 'semgrep' || scanner === 'gitleaks') return tooLarge;
  const readable = files.filter((file) => file.bytes > 0 && !isOut(file));
  const found = [...tooLarge];
  for (const [number, { path }] of readable.entries()) {
    if (isPassedOver(scanner, join(checkout, path), path)) found.push(path);
    if (number % AT_ONCE === 0) await turn();
  }
  return found;
}

const SCRIPT = /\.(?:pyi?|[cm]?[jt]sx?)$/i;
/** A line's end for the language, and none for Semgrep: U+2028 and U+2029 too, in UTF-8. */
const LINE_ENDS = [Buffer.from('\u2028'), Buffer.from('\u2029')];
const CODING = /^[^\n]*\n?[^\n]*?#.{0,200}?coding[:=]\s{0,8}([\w.-]{1,60})/;
const PLAIN_CODING = /^(?:utf-?8(?:-sig)?|ascii|us-ascii|latin-?1|iso-?8859-1(?:5)?|cp1252)$/i;

/** Whether Python or JavaScript read a file otherwise than Semgrep does: by its line ends, or its declared coding. */
function isReadOtherwise(file: string, path: string, bytes: number): boolean {
  if (!SCRIPT.test(path)) return false;
  const content = headOf(file, Math.min(bytes, LARGEST_FOR_SEMGREP));
  for (let at = content.indexOf(13); at !== -1; at = content.indexOf(13, at + 1))
    if (content[at + 1] !== 10) return true;
  if (LINE_ENDS.some((end) => content.includes(end))) return true;
  const [, coding] = CODING.exec(content.toString('latin1', 0, 1000)) ?? [];
  return coding !== undefined && /\.pyi?$/i.test(path) && !PLAIN_CODING.test(coding.replaceAll('_', '-'));
}

function limitOf(scanner: Scanner): number {
  return scanner === 'semgrep' ? LARGEST_FOR_SEMGREP : LARGEST_SCANNED_FILE;
}

function isBinary(path: string): boolean {
  return BINARY.has(extname(path).slice(1).toLowerCase());
}

function isPassedOver(scanner: Scanner, file: string, path: string): boolean {
  const dependencies = DEPENDENCIES.test(path);
  const binary = isBinary(path);
  if (!dependencies && (scanner === 'grype' || binary)) return false;
  const head = headOf(file);
  // Trivy's rule for what is binary, which it looks for secrets in no more.
  if (scanner === 'trivy' && !binary && head.some(isControl)) return true;
  if (JSON_LOCKFILE.test(path)) return !isJson(file);
  return scanner === 'grype' && hasByteOrderMark(head);
}

/**
 * Files whose differences `git log` would not show because of a NUL byte, though by their names they are text: those
 * Gitleaks has to see. Of what may be binary by its name none: random bytes take it a second a megabyte.
 */
export async function takenForBinary(files: readonly TrackedFile[], checkout: string): Promise<string[]> {
  const found: string[] = [];
  for (const [number, { path, bytes }] of files.entries()) {
    if (found.length === MOST_TEXTS) break;
    if (bytes > 0 && bytes <= LARGEST_TEXT && TEXT.test(path)) {
      if (headOf(join(checkout, path), LOOKED_AT_BY_GIT).includes(0)) found.push(path);
    }
    if (number % AT_ONCE === 0) await turn();
  }
  return found;
}

const LOOKED_AT_BY_GIT = 8000;
const LARGEST_TEXT = 10 * 1024 * 1024;
/** git compares each file of each commit with each of them. */
const MOST_TEXTS = 1000;
const TEXT_ENDINGS =
  'bash bat c cc cert cfg cjs conf config cpp crt cs css csv env go gradle graphql groovy h hcl htm html ini ipynb java js json jsx key kt kts lua m md mjs pem php pl plist properties ps1 pub py r rb rs scala sh sql svelte swift tf tfvars toml ts tsx txt vb vue xml yaml yml zsh';
const TEXT = new RegExp(
  `(?:\\.(?:${TEXT_ENDINGS.replaceAll(' ', '|')})|(?:^|/)(?:\\.env[^/]*|[^/.]*file|\\.[^/.]*rc|credentials|config))$`,
  'i',
);

function isControl(byte: number): boolean {
  return byte < 7 || byte === 11 || (byte > 13 && byte < 27) || (byte > 27 && byte < 32) || byte === 127;
}

function hasByteOrderMark(head: Buffer): boolean {
  return ['efbbbf', 'fffe', 'feff'].some((mark) => head.subarray(0, 3).toString('hex').startsWith(mark));
}

/** The checkout holds plain files alone (`core.symlinks`): nothing leads out of it. */
function headOf(file: string, length = HEAD): Buffer {
  const head = Buffer.alloc(length);
  try {
    const handle = openSync(file, 'r');
    try {
      return head.subarray(0, readSync(handle, head, 0, length, 0));
    } finally {
      closeSync(handle);
    }
  } catch {
    return head.subarray(0, 0);
  }
}

function isJson(file: string): boolean {
  try {
    JSON.parse(readFileSync(file, 'utf8'));
    return true;
  } catch {
    return false;
  }
}

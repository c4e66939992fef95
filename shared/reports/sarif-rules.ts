import { descriptionOf, titleOf } from './normalise.ts';
import type { Component, Result, Rule, Run } from './sarif-log.ts';

/** A message with its arguments gets no longer than this: more than is kept of it, and a bound to what it costs. */
const MESSAGE_LENGTH = 16 * 1024;
/** Longer help is a manual. */
const LONGEST_FIX = 500;

/** What a rule says of all of its results. */
export interface RuleTexts {
  readonly title: string;
  readonly description: string;
  readonly fix: string | null;
}

/** The rules of a run, found as SARIF refers to them; their texts are cleaned once, not for each result. */
export class RuleBook {
  readonly #components: readonly (Component | null)[];
  readonly #extensions: readonly (Component | null)[];
  readonly #byId = new Map<string, Rule>();
  readonly #texts = new Map<Rule, RuleTexts>();

  constructor({ tool }: Run) {
    this.#extensions = tool.extensions ?? [];
    this.#components = [tool.driver, ...this.#extensions];
    for (const one of this.#components.flatMap((component) => component?.rules ?? []))
      if (one?.id && !this.#byId.has(one.id)) this.#byId.set(one.id, one);
  }

  find(item: Result): Rule | undefined {
    const at = item.ruleIndex ?? item.rule?.index;
    const rules = this.#componentOf(item)?.rules;
    return (typeof at === 'number' ? rules?.[at] : null) ?? this.#named(item.ruleId ?? item.rule?.id);
  }

  /** `rule/sub` is a part of `rule`, where it is no rule of its own (SARIF 2.1.0, 3.52.4). */
  #named(id: string | null | undefined): Rule | undefined {
    // Deeper names than these are no hierarchy.
    for (let name = id ?? '', depth = 0; name !== '' && depth < 20; depth += 1) {
      const found = this.#byId.get(name);
      if (found) return found;
      name = name.slice(0, Math.max(0, name.lastIndexOf('/')));
    }
    return undefined;
  }

  #componentOf(item: Result): Component | null | undefined {
    const extension = item.rule?.toolComponent?.index;
    return (typeof extension === 'number' ? this.#extensions[extension] : null) ?? this.#components[0];
  }

  textsOf(of: Rule): RuleTexts {
    const known = this.#texts.get(of);
    if (known) return known;
    const help = of.help?.text ?? '';
    const texts = {
      title: titleOf(of.shortDescription?.text || of.name || ''),
      description: descriptionOf(of.fullDescription?.text),
      fix: help.length <= LONGEST_FIX ? descriptionOf(help) || null : null,
    };
    this.#texts.set(of, texts);
    return texts;
  }

  /** What a result says, with its arguments in their places; null where it says nothing. */
  messageOf(item: Result, of: Rule | undefined): string | null {
    const { text, id, arguments: values } = item.message ?? {};
    const shared = id
      ? (of?.messageStrings?.[id] ?? this.#componentOf(item)?.globalMessageStrings?.[id])?.text
      : null;
    const template = (text ?? shared)?.slice(0, MESSAGE_LENGTH) ?? null;
    return template === null ? null : filled(template, values ?? []);
  }
}

/** `{0}` is the first argument, `{{` a brace (3.11.5); without arguments a text stands as it is. */
function filled(template: string, values: readonly string[]): string {
  if (values.length === 0) return template;
  let length = 0;
  return template
    .slice(0, MESSAGE_LENGTH)
    .replace(/\{\{|\}\}|\{(\d{1,3})\}/g, (all, digits: string | undefined) => {
      if (digits === undefined) return all.charAt(0);
      const value = values[Number(digits)];
      if (value === undefined) return all;
      length += value.length;
      return length > MESSAGE_LENGTH ? '…' : value;
    });
}

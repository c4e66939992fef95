/** Pages that a compiled policy asks for at least. */
const PAGES = 5;

/** Names of the builtins that a compiled policy calls outside of itself. */
export async function externalBuiltins(wasm: Uint8Array): Promise<string[]> {
  const memory = new WebAssembly.Memory({ initial: PAGES });
  const never = () => {
    throw new Error('A policy calls out while it tells its builtins');
  };
  const env = {
    memory,
    opa_abort: never,
    opa_println: never,
    opa_builtin0: never,
    opa_builtin1: never,
    opa_builtin2: never,
    opa_builtin3: never,
    opa_builtin4: never,
  };
  const { exports } = new WebAssembly.Instance(await WebAssembly.compile(wasm), { env });
  const { builtins, opa_json_dump } = exports as unknown as {
    builtins(): number;
    opa_json_dump(value: number): number;
  };
  const start = opa_json_dump(builtins());
  const bytes = new Uint8Array(memory.buffer);
  // An object of numbers by name.
  return Object.keys(JSON.parse(new TextDecoder().decode(bytes.subarray(start, bytes.indexOf(0, start)))));
}

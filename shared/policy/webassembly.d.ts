/** Node has it and its types do not: as much of WebAssembly's JavaScript interface as is used here. */
declare namespace WebAssembly {
  type ModuleImports = Record<string, Memory | ((...values: never[]) => unknown)>;

  class Memory {
    constructor(descriptor: { readonly initial: number; readonly maximum?: number });
    readonly buffer: ArrayBuffer;
  }

  class Instance {
    constructor(module: Module, imports: Record<string, ModuleImports>);
    readonly exports: Record<string, unknown>;
  }

  function compile(bytes: Uint8Array): Promise<Module>;
}

import manifest from '../package.json' with { type: 'json' };

/** Version of this project. */
export const version: string = manifest.version;

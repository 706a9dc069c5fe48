import { tools } from '../tools/index.ts';
import type { Catalogue } from './offers.ts';
import { prompts } from './prompts.ts';
import { resources } from './resources.ts';

/** The 15 tools, 2 resources and 2 prompts of specification 3. */
export const catalogue: Catalogue = { tools, resources, prompts };

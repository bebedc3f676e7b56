/** Names can't begin with `prj_`, which is reserved for IDs: a reference is either a name or an ID, never both. */
export const PROJECT_NAME = /^(?!prj_)[a-z0-9][a-z0-9-]{0,62}$/

export const PROJECT_NAME_RULE = 'must be 1 to 63 of a-z, 0-9 and -, starting with a letter or digit'

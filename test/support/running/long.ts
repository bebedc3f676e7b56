/**
 * Set by `npm run chaos`: more rounds, more clients and longer outages than an ordinary run of all tests can afford.
 */
export const IS_LONG = process.env['MOORAGE_TEST_LONG'] === '1'

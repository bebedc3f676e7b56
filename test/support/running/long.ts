/** `npm run chaos` sets it: more rounds, more clients and longer outages than each whole run of the tests can afford. */
export const IS_LONG = process.env['MOORAGE_TEST_LONG'] === '1'

// Loaded when it is needed. A module of its own, so that what we do not use of uqr is left out.
export { encode as encodeQr } from 'uqr'

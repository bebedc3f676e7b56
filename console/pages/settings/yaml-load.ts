// A file of its own, so that only the reader of YAML is loaded and not its writer.
export { load } from 'js-yaml'

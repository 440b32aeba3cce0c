/* What ABI versions after 1.0 have and 1.0 has not, by name: what tn_plugin.needs may ask for, as
 * "tn_host.log". There is none yet. See docs/abi.md. */

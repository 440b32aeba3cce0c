#!/bin/sh
# A plug-in exports tn_plugin_query and nothing else. usage: exports.sh NM PLUGIN
exported=$("$1" -D --defined-only "$2" | sed 's/.* //')
[ "$exported" = tn_plugin_query ] && exit 0
echo "$2 exports more or less than tn_plugin_query: $exported"
exit 1

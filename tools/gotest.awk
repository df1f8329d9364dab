# Reads `go test -json`, prints a line for each package, the output of each
# failed test, and a closing line that counts tests.
function field(name,    m) {
  if (match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) {
    m = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
    return m
  }
  return ""
}
function unescape(s) {
  gsub(/\\n/, "\n", s); gsub(/\\t/, "\t", s); gsub(/\\"/, "\"", s)
  gsub(/\\u003c/, "<", s); gsub(/\\u003e/, ">", s); gsub(/\\u0026/, "\\&", s); gsub(/\\\\/, "\\", s)
  return s
}
!/^\{/ { print; next }
{
  action = field("Action"); pkg = field("Package"); test = field("Test"); key = pkg "\t" test
  if (action == "output" || action == "build-output") {
    if (pkg == "") pkg = field("ImportPath")
    text[pkg "\t" test] = text[pkg "\t" test] unescape(field("Output"))
  } else if (test != "" && action == "pass") { passed++; delete text[key] }
  else if (test != "" && action == "skip") { skipped++; print "skipped: " pkg " " test; printf "%s", text[key] }
  else if (test != "" && action == "fail") { failed++; print "failed: " pkg " " test; printf "%s", text[key] }
  else if (test == "" && action == "pass") print "ok    " pkg
  else if (test == "" && action == "fail") { print "FAIL  " pkg; broken++; printf "%s", text[pkg "\t"] }
  else if (action == "build-fail") { p = field("ImportPath"); printf "%s", text[p "\t"] }
}
END {
  if (status != 0 && failed == 0) failed = broken > 0 ? broken : 1
  line = passed + 0 " passed, " failed + 0 " failed"
  if (skipped > 0) line = line ", " skipped " skipped"
  print line
}

# Makes a table of benchmark lines: a row for each figure, with its target where it has one (unit:most, unit:least).
/^Benchmark/ {
  name = $1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
  n = 0
  delete value
  for (i = 3; i < NF; i += 2) { value[$(i + 1)] = $i; order[n++] = $(i + 1) }
  for (i = 0; i < n; i++) {
    unit = order[i]
    if (unit ~ /:(most|least)$/) continue
    target = ""; of = ""; met = ""
    if ((unit ":most") in value) { t = value[unit ":most"]; target = "<= " t; met = value[unit] <= t + 0 ? "met" : "missed" }
    if ((unit ":least") in value) { t = value[unit ":least"]; target = ">= " t; met = value[unit] >= t + 0 ? "met" : "missed" }
    if (met != "" && t + 0 > 0) of = sprintf("%.2f", value[unit] / t)
    if (met == "missed") missed++
    printf "%-44s %12s %-26s %10s %6s %s\n", name, value[unit], unit, target, of, met
    name = ""
  }
}
END { printf "%d targets missed\n", missed }

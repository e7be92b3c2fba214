// The start of all charts.

document.querySelectorAll("figure[data-measure]").forEach(curveChart);
document.querySelectorAll("figure[data-series]").forEach(seriesCharts);
document.querySelectorAll("figure[data-percentiles]").forEach(percentileChart);
document.querySelectorAll("figure[data-heat]").forEach(heatChart);

-- Histograms of a script's own.
local h = sysbench.histogram.new(100, 1, 1000)
print(type(h))
for i = 1, 100 do
  h:update(i)
end
h:update(0.1)
h:update(5000)
h:print()
local few = sysbench.histogram.new(5, 10, 20)
few:update(15)
few:print()
sysbench.histogram.new(10, 1, 2):print()

-- The numbers that one thread gets from a seed.
local rand = sysbench.rand

function event()
  for _, name in ipairs({ "uniform", "default", "special", "gaussian", "pareto" }) do
    local numbers = {}
    for i = 1, 8 do
      numbers[i] = rand[name](1, 100000)
    end
    print(name, table.concat(numbers, " "))
  end
  print(rand.string("####-@@@@"), string.format("%.9f", rand.uniform_double()), tostring(rand.uniform_uint64()))
end

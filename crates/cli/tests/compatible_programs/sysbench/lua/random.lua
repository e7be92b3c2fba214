-- Random numbers: what holds regardless of the seed.
local rand = sysbench.rand

local function within(name, low, high)
  local least, most, whole = math.huge, -math.huge, true
  for _ = 1, 3000 do
    local n = rand[name](low, high)
    least, most = math.min(least, n), math.max(most, n)
    whole = whole and n == math.floor(n)
  end
  print(name, low, high, least >= low, most <= high, whole, type(rand[name](low, high)))
  return least, most
end

function event()
  for _, name in ipairs({ "default", "uniform", "gaussian", "special", "pareto" }) do
    within(name, 1, 10)
    within(name, 7, 7)
    within(name, 0, 1000000)
  end
  local least, most = within("uniform", 3, 5)
  print("both ends", least == 3, most == 5)
  print("fractions", rand.uniform(1.9, 1.9), rand.uniform(2.5, 2.9))
  print("one number", rand.uniform(4294967295, 4294967295))
  print("wrong types", pcall(rand.uniform, "a", 2))
  print("wrong types", pcall(rand.uniform, 1, "b"))
  print("string", rand.string("###-@@@ AZ"):match("^%d%d%d%-%l%l%l AZ$") ~= nil, #rand.string(("@"):rep(500)))
  print("strings", rand.string(""), rand.string("plain"), (pcall(rand.string)))
  local d = rand.uniform_double()
  print("double", type(d), d >= 0, d < 1)
  local u = rand.uniform_uint64()
  print("uint64", type(u), tostring(u):match("^%d+ULL$") ~= nil)
  local seen, again = {}, 0
  for _ = 1, 5000 do
    local n = rand.unique()
    again = again + (seen[n] and 1 or 0)
    seen[n] = true
  end
  print("unique", again, type(rand.unique()), rand.unique(1, 2) ~= rand.unique(1, 2))
  print("old names", sb_rand(4, 4), sb_rand_uniform(5, 5), sb_rand_gaussian(6, 6), sb_rand_special(7, 7))
  print("old names", type(sb_rnd()), sb_rand_str("q"), sb_rand_uniq(1, 1000000000) <= 1000000000)
end

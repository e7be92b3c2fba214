-- Whether a script's events let the other clients of their thread have a turn. A client yields at each statement; code
-- that runs for long without one stops the others. Such code is found in the script's functions before they run: loops,
-- functions that call themselves, files, functions of C. What is found is a doubt; it is certain where nothing but a
-- wait looks like that. The text of the script itself, outside of functions, runs before any event.
local bit = require("bit")
local util = require("jit.util")
local band, rshift = bit.band, bit.rshift

-- Numbers of instructions; the order of those that loops end with is LuaJIT's.
local MOV, KSHORT, KNUM, FNEW, CALL, TSETS, TGETV, FORI, LOOP
do
  local function operation(f, pc) return band(util.funcbc(f, pc), 0xff) end
  MOV, KSHORT = operation(function(a) local b = a return b end, 1), operation(function() return 1 end, 1)
  KNUM, FNEW = operation(function() return 1.5 end, 1), operation(function() return function() end end, 1)
  TSETS, TGETV = operation(function(a) a.b = a end, 1), operation(function(a) local b = a[a] return b end, 1)
  local function calls(a) local b = a() return b end
  local function counts() for _ = 1, 2 do end end
  CALL, FORI = operation(calls, 2), operation(counts, 4)
  LOOP = FORI + 8
end
-- How an instruction uses its first register.
local WRITES = 1
local JFORI, JLOOP, JMP, ITERC, GSET = FORI + 1, LOOP + 2, LOOP + 3, CALL + 3, FNEW + 4

local function set_of(names)
  local set = {}
  for name in names:gmatch("%S+") do set[name] = true end
  return set
end

-- Methods at which a client yields, and the others of the objects that have them: a loop with one of them is as long as
-- the list of statements, tables or values that the script works through.
local YIELDS = set_of("query query_row execute prepare connect reconnect bulk_insert_next db_query db_execute db_prepare " ..
                      "db_bulk_insert_next")
local HANDLES = set_of("bind_create bind_param set set_rand_str close free disconnect fetch_row bulk_insert_init " ..
                       "bulk_insert_done db_bind_param db_close")
-- A loop of so many rounds takes some milliseconds; one of so many is there to take time.
local ROUNDS_MAX, ROUNDS_OF_WAITS = 100000, 1000000
local ITERATORS = set_of("pairs ipairs next gmatch")
-- Clocks: of `os`, of C, and of any library.
local CLOCKS = { os = set_of("time clock date"), ["ffi.C"] = set_of("time clock times ftime") }
local CLOCKS_ANYWHERE = set_of("gettimeofday clock_gettime timespec_get gettime")
-- What neither waits nor runs for long, of libraries that also have what does.
local HARMLESS = {
  io = set_of("write stdout stderr close type"),
  ["ffi.C"] = set_of("time clock times ftime gettimeofday clock_gettime timespec_get getpid gettid rand random srand " ..
                     "srandom strlen strcmp strncmp strcpy strncpy memcpy memset memcmp printf snprintf sprintf puts " ..
                     "putchar fflush malloc calloc free atoi atof strtol strtod toupper tolower getenv sqrt pow exp log"),
}
local LOADS_CODE = set_of("load loadstring loadfile dofile require")
-- They call functions of the script, which cannot yield there.
local CALLS_BACK = { string = set_of("gsub"), table = set_of("sort foreach foreachi") }

-- What is found in one script. `names` has the names that each function loads, `named` the functions of each name.
local function found_nothing()
  return { loops = {}, names = {}, named = {} }
end

local function doubt(found, words)
  found.doubt = found.doubt or words
end

local function place(f, pc) return util.funcinfo(f, pc).loc end

-- A function is reached by this name.
local function names_function(found, proto, name)
  found.named[name] = found.named[name] or {}
  table.insert(found.named[name], proto)
end

-- Reads one function, an instruction at a time: inside of the function that `outer` reads, or the text of a file.
local function reader(found, f, outer)
  local loaded = outer and outer.loaded or {}
  found.names[f] = loaded
  -- A function inside of a function counts as a part of it.
  if outer and not outer.is_inner then loaded = {} found.names[f] = loaded end
  return { found = found, f = f, is_inner = outer ~= nil, loaded = loaded, open = {}, numbers = {}, names = {} }
end

-- How often a numeric loop runs. `nil`: that is known only when it runs.
local function rounds(first, last, step)
  if not (first and last and step) or step == 0 then return nil end
  return math.max(0, (last - first) / step + 1)
end

local function calls_itself(found, name)
  doubt(found, "may compute for long in `" .. name .. "`, which calls itself")
end

local function has_function(found, name, proto)
  for _, one in ipairs(found.named[name] or {}) do
    if one == proto then return true end
  end
end

-- A value is loaded by a name: a global or a local (without `library`), or a field of a library.
local function loads(reading, register, name, library, is_global, value)
  local found = reading.found
  reading.names[register], reading.numbers[register] = name, tonumber(value)
  reading.loaded[name] = true
  for _, loop in ipairs(reading.open) do loop.names[name] = true end
  if CLOCKS_ANYWHERE[name] or library and CLOCKS[library] and CLOCKS[library][name] then
    found.clock = found.clock or (library and library .. "." .. name or name)
  end
  if not reading.is_inner then return end
  if library == "ffi.C" and not name:find("^%u") and not name:find("^sb_") and not HARMLESS[library][name] then
    doubt(found, "calls the C function `" .. name .. "`, which may wait")
  elseif library == "io" and not HARMLESS.io[name] then
    doubt(found, "may wait in `io." .. name .. "`")
  elseif library and CALLS_BACK[library] and CALLS_BACK[library][name] or name == "gsub" and not library then
    doubt(found, "may send statements from inside of `" .. name .. "`, where it cannot yield")
  elseif is_global and LOADS_CODE[name] and not found.named[name] then
    doubt(found, "may load code with `" .. name .. "` while events run")
  elseif is_global and has_function(found, name, reading.f) then
    calls_itself(found, name)
  end
end

local function opens(reading, pc, last, loop)
  loop.last, loop.place, loop.names, loop.around = last, place(reading.f, pc), {}, reading.open[#reading.open]
  reading.open[#reading.open + 1] = loop
  if reading.is_inner then table.insert(reading.found.loops, loop) end
end

-- The other instructions. `library` is in the register of its second operand.
local function step(reading, pc, instruction, mode, library)
  local operation, a, d = band(instruction, 0xff), band(rshift(instruction, 8), 0xff), rshift(instruction, 16)
  local numbers, names, open, found = reading.numbers, reading.names, reading.open, reading.found
  while #open > 0 and pc > open[#open].last do open[#open] = nil end
  local moved_number, moved_name = numbers[d], names[d]
  if band(mode, 7) == WRITES then numbers[a], names[a] = nil, nil end
  if operation == KSHORT then
    numbers[a] = d < 0x8000 and d or d - 0x10000
  elseif operation == KNUM then
    numbers[a] = util.funck(reading.f, d)
  elseif operation == MOV then
    numbers[a], names[a] = moved_number, moved_name
  elseif operation == FNEW then
    names[a] = util.funck(reading.f, -d - 1)
  elseif operation == GSET then
    if type(names[a]) == "proto" then names_function(found, names[a], util.funck(reading.f, -d - 1)) end
  elseif operation == TSETS then
    if type(names[a]) == "proto" then names_function(found, names[a], util.funck(reading.f, -band(d, 0xff) - 1)) end
  elseif operation == CALL then
    names[a] = ITERATORS[names[a]] and "an iterator" or nil
  elseif operation == TGETV and library and reading.is_inner then
    doubt(found, "calls functions of `" .. library .. "` by names that it makes as it runs")
  elseif operation == FORI or operation == JFORI then
    opens(reading, pc, pc + d - 0x8000, { rounds = rounds(numbers[a], numbers[a + 1], numbers[a + 2]) })
  elseif operation == JMP and d >= 0x8000 then
    local target = pc + d - 0x7fff
    local at_target = util.funcbc(reading.f, target) or 0
    -- The first instruction of a loop over an iterator.
    if band(at_target, 0xff) == ITERC then
      local is_known = names[band(rshift(at_target, 8), 0xff) - 3] == "an iterator"
      opens(reading, pc, target + 1, { rounds = is_known and 1 or nil })
    end
  elseif operation >= LOOP and operation <= JLOOP or operation == JMP then
    if reading.is_inner then found.open_loop = found.open_loop or place(reading.f, pc) end
  end
end

-- Whether one of these names is in the set, or a function of such a name loads one.
local function leads_to(names, set, found, seen)
  for name in pairs(names) do
    local functions = found.named[name]
    if set[name] and not functions then return true end
    for _, f in ipairs(functions or {}) do
      if not seen[f] then
        seen[f] = true
        if leads_to(found.names[f] or {}, set, found, seen) then return true end
      end
    end
  end
end

local function all_rounds(loop)
  local product = loop.rounds
  while product and loop.around do
    loop = loop.around
    product = product * (loop.rounds or 1)
  end
  return product
end

-- Why the script's events may not give way, and whether that is certain.
local function judge(found)
  if found.open_loop and found.clock then return "may wait by looking at a clock (`" .. found.clock .. "`)", true end
  local is_certain = false
  if found.open_loop then
    doubt(found, "may compute for long without a statement (the loop at " .. found.open_loop .. ")")
  end
  for _, loop in ipairs(found.loops) do
    local count = all_rounds(loop)
    local is_long = not leads_to(loop.names, YIELDS, found, {}) and (count and count > ROUNDS_MAX or
                    not count and not leads_to(loop.names, HANDLES, found, {}))
    if is_long then
      local words = "may compute for long without a statement (the loop at " .. loop.place .. ")"
      if count and count >= ROUNDS_OF_WAITS then return words, true end
      doubt(found, words)
    end
  end
  return found.doubt, is_certain
end

return {
  found_nothing = found_nothing, names_function = names_function, calls_itself = calls_itself, reader = reader,
  loads = loads, step = step, judge = judge,
}

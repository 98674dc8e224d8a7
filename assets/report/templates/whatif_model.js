// The formulas of assets/model that the sliders need, in plain numbers; a test compares both.
// NaN is unknown, as there. Rates are failures per node-day, durations minutes unless the name says otherwise.
const whatIfModel = (function () {
  const MINUTES_PER_DAY = 1440;
  const MAX_SIMULATED_FAILURES = 1000;
  const MIN_MINUTES = 1e-3;
  const TINY = 1e-18;

  // (exp(x) - 1) / x.
  function exprel(x) {
    return x === 0 ? 1 : Math.expm1(x) / x;
  }

  // ettr.expected_ettr_exact, for a run without end.
  function ettrExact(perDay, checkpoint, costs) {
    const [dt, u0, w, q] = [checkpoint, costs.restart, costs.write, costs.queue].map((m) => m / MINUTES_PER_DAY);
    const segments = (dt + w) / dt * exprel(perDay * (dt + w)) * Math.exp(perDay * u0);
    return 1 / (segments * (1 + perDay * q));
  }

  // checkpoint.optimal_minutes: x = perDay * dt solves x = 1 - exp(-x - c), by Newton's steps from above the root.
  function optimalMinutes(perDay, write) {
    if (!(write > 0)) return 0;
    const c = perDay > 0 ? perDay * write / MINUTES_PER_DAY : NaN;
    let x = Math.min(1, Math.sqrt(2 * c));
    for (let step = 0; step < 40; step++) x += (x + Math.expm1(-x - c)) / Math.expm1(-x - c);
    return x / perDay * MINUTES_PER_DAY;
  }

  function ettrOptimal(perDay, costs) {
    return ettrExact(perDay, Math.max(optimalMinutes(perDay, costs.write), MIN_MINUTES), costs);
  }

  // spares.probability_without_spare: as many nodes are out, or more, of a number that is Poisson distributed. Chances
  // are multiplied as logarithms, because that of no node out is too small for a number where the mean is above 745.
  function probabilityWithoutSpare(perDay, repairDays, spares) {
    const mean = perDay * repairDays;
    let fewer = 0, logChance = -mean;
    for (let out = 0; out < spares; out++) {
      fewer += Math.exp(logChance);
      logChance += Math.log(mean / (out + 1));
    }
    return Math.max(0, 1 - fewer);
  }

  // prediction.count_limits: the smallest counts at which the sum of the chances reaches both tails. The chance of
  // n + 1 is ratio(n) times that of n, and that of the most likely count is taken as 1.
  function countLimits(ratio, mode, level) {
    let first = mode, chance = 1, total = 0;
    while (first > 0 && chance > TINY) chance /= ratio(--first);
    for (let n = first, next = chance; n <= mode || next > TINY; next *= ratio(n++)) total += next;
    return [(1 - level) / 2, (1 + level) / 2].map((share) => {
      let n = first, next = chance, sum = chance;
      while (sum < share * total && next > 0) sum += next *= ratio(n++);
      return n;
    });
  }

  // run_plan.predict_interruptions: negative binomial for a rate that was counted, Poisson for one that is assumed.
  function predictInterruptions(rate, nodeDays) {
    const value = rate.value * nodeDays, mean = rate.assumed ? value : rate.mean * nodeDays, shape = rate.shape;
    const share = mean / (shape + mean);
    const [low, high] = rate.assumed ? countLimits((n) => mean / (n + 1), Math.floor(mean), rate.level)
      : countLimits((n) => share * (n + shape) / (n + 1), Math.floor(Math.max(0, shape - 1) * mean / shape), rate.level);
    return value >= 0 ? { value, low: Math.min(low, Math.floor(value)), high: Math.max(high, Math.ceil(value)) } : { value, low, high };
  }

  // run_plan.rates_to_come: shape and mean of the Gamma distribution that a count leaves for the rate of days to come,
  // with what MonthVariation.of_future adds for months that differ.
  function ratesToCome(data, days) {
    const counted = data.failure_count / data.dispersion + 0.5;
    const months = Math.max(days / data.days_per_month, 1);
    const variance = data.month_variance * (data.month_concentration + 1 / months);
    return { shape: counted / (1 + variance * counted), mean: counted * data.dispersion / data.node_days };
  }

  // The logarithm of the Gamma function, by Stirling's series.
  function logGamma(x) {
    let shift = 0;
    for (; x < 12; x++) shift -= Math.log(x);
    const s = 1 / (x * x);
    const series = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s / 1680))) / x;
    return shift + (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
  }

  // run_outlook.possible_rates: the quantiles (i + 1/2) / n of a Gamma distribution. Each is sought between the
  // one before and what is never reached, by Newton's steps in the logarithm; a step that leads out is halved.
  function gammaQuantiles(shape, mean, count) {
    const logTotal = logGamma(shape + 1), found = [];
    let x = Math.exp((Math.log(0.5 / count) + logTotal) / shape);
    for (let i = 0; i < count; i++) {
      let low = x, high = shape + 20 * Math.sqrt(shape) + 60;
      for (let step = 0; step < 200; step++) {
        let sum = 1;
        for (let n = 1, term = 1; term > TINY * sum; n++) sum += term *= x / (shape + n);
        const miss = (i + 0.5) / count * Math.exp(logTotal + x - shape * Math.log(x)) - sum;
        if (miss > 0) low = x; else high = x;
        let next = x * Math.exp(miss / shape);
        if (!(next >= low && next <= high)) next = (low + high) / 2;
        const isFound = Math.abs(next - x) <= 1e-13 * x;
        x = next;
        if (isFound) break;
      }
      found.push(x * mean / shape);
    }
    return found;
  }

  function hash(run, attempt) {
    let mixed = (Math.imul(run, 0x9E3779B1) ^ Math.imul(attempt, 0x85EBCA77)) >>> 0;
    for (let round = 0; round < 2; round++) {
      mixed ^= mixed >>> 16;
      mixed = Math.imul(mixed, 0x85EBCA6B);
      mixed ^= mixed >>> 13;
      mixed = Math.imul(mixed, 0xC2B2AE35);
      mixed ^= mixed >>> 16;
    }
    return mixed >>> 0;
  }

  // run_outlook.run_outlook.
  function targetProbability(rate, nodes, checkpoint, costs, days, target, runs) {
    if (!(rate.value > 0)) return NaN;
    const [dt, u0, w, q] = [Math.max(checkpoint, MIN_MINUTES), costs.restart, costs.write, costs.queue]
      .map((minutes) => minutes / MINUTES_PER_DAY);
    let reached = 0;
    const rates = rate.assumed ? new Array(runs).fill(rate.value) : gammaQuantiles(rate.shape, rate.mean, runs);
    rates.forEach((perNodeDay, run) => {
      const perDay = perNodeDay * nodes, length = Math.min(days, MAX_SIMULATED_FAILURES / perDay);
      let elapsed = 0, productive = 0, failures = 0;
      for (let isLast = false; !isLast; ) {
        const draw = -Math.log((hash(run, failures) + 0.5) / 4294967296) / perDay, left = length - elapsed;
        isLast = draw >= left;
        const work = Math.max((isLast ? left : draw) - u0, 0), segments = Math.floor(work / (dt + w));
        productive += segments * dt + (isLast ? Math.min(work - segments * (dt + w), dt) : 0);
        elapsed += draw;
        if (!isLast) failures += 1;
      }
      if (productive / (length + q * (failures + 1)) >= target) reached += 1;
    });
    return reached / runs;
  }

  // The rate that a choice means for so many days: the measured one with its limits, or one that is taken as known.
  function chosenRate(data, choice, own, days) {
    const known = { level: data.confidence_level, assumed: choice !== "measured" };
    const [measured, low, high] = [data.value, data.low, data.high].map((x) => x ?? NaN);
    if (!known.assumed) return { ...known, value: measured, low, high, ...ratesToCome(data, days) };
    const value = { own: own / 1000, low, high }[choice];
    return { ...known, value, low: value, high: value };
  }

  // mttf.nodes_of: nodes of a job where those of the cluster may differ in size.
  function nodesOf(data, gpus) {
    const nodes = Math.ceil(gpus / data.gpus_per_node), whole = data.gpu_node_count;
    if (gpus === data.gpu_count) return whole;
    return gpus < data.gpu_count ? Math.min(nodes, whole) : Math.max(nodes, whole);
  }

  // spares: a job that finds a spare node does not wait in the queue.
  function costsOf(input, perDay) {
    const without = probabilityWithoutSpare(perDay, input.repair_hours / 24, input.spares);
    return { restart: input.restart, write: input.write, queue: input.queue * without };
  }

  // The expected ETTR of any size and interval, at the rate and costs chosen.
  function ettrOf(data, input, gpus, checkpoint) {
    const perDay = chosenRate(data, input.rate, input.own, input.days).value * nodesOf(data, gpus);
    return ettrExact(perDay, checkpoint, costsOf(input, perDay));
  }

  // Everything the page says, from the numbers in its fields.
  function evaluate(data, input) {
    const rate = chosenRate(data, input.rate, input.own, input.days), nodes = nodesOf(data, input.gpus);
    const [value, low, high] = [rate.value, rate.low, rate.high].map((x) => (x > 0 ? x * nodes : NaN));
    const mayBeZero = rate.low === 0, costs = costsOf(input, value);
    const ettrAt = (perDay) => ettrExact(perDay, input.checkpoint, costsOf(input, perDay));
    const future = rate.assumed && !(rate.value > 0)
      ? { value: NaN, low: NaN, high: NaN } : predictInterruptions(rate, nodes * input.days);
    return {
      nodes,
      mttf_hours: 24 / value, mttf_hours_low: 24 / high, mttf_hours_high: mayBeZero ? Infinity : 24 / low,
      interruptions: future.value, interruptions_low: future.low, interruptions_high: future.high,
      best_minutes: optimalMinutes(value, input.write),
      best_minutes_low: optimalMinutes(high, input.write),
      best_minutes_high: mayBeZero ? Infinity : optimalMinutes(low, input.write),
      ettr: ettrAt(value), ettr_low: ettrAt(high), ettr_high: ettrAt(mayBeZero ? 0 : low),
      ettr_best: ettrOptimal(value, costs),
      without_spare: probabilityWithoutSpare(value, input.repair_hours / 24, input.spares),
      probability: targetProbability(rate, nodes, input.checkpoint, costs, input.days, input.target, data.run_count),
    };
  }

  return { evaluate, ettrOf, probabilityWithoutSpare, gammaQuantiles };
})();

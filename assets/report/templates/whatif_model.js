// The formulas of assets/model that the sliders need, in plain numbers; a test holds both together.
// NaN is unknown, as there. Rates are failures per node-day, durations minutes unless the name says otherwise.
const whatIfModel = (function () {
  const MINUTES_PER_DAY = 1440;
  const MAX_SIMULATED_FAILURES = 1000;
  const MIN_MINUTES = 1e-3;
  const MAX_TERMS = 100000;
  const TINY = 1e-300;
  const LANCZOS = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];

  // log Gamma(x), x > 0: Lanczos' approximation, and Stirling's series where that loses digits.
  function logGamma(x) {
    if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
    if (x > 20) {
      const i = 1 / (x * x);
      const series = (1 / 12 - i * (1 / 360 - i * (1 / 1260 - i * (1 / 1680 - i / 1188)))) / x;
      return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
    }
    let sum = LANCZOS[0];
    for (let k = 1; k < 9; k++) sum += LANCZOS[k] / (x - 1 + k);
    const t = x + 6.5;
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
  }

  // Both tails of the regularised incomplete gamma function: [P(a, x), Q(a, x)].
  function gammaTails(a, x) {
    if (!(x > 0)) return x === 0 ? [0, 1] : [NaN, NaN];
    const scale = Math.exp(a * Math.log(x) - x - logGamma(a));
    if (x < a + 1) {
      let term = 1 / a, sum = term;
      for (let n = 1; n < MAX_TERMS && Math.abs(term) > Math.abs(sum) * 1e-16; n++) {
        term *= x / (a + n);
        sum += term;
      }
      return [sum * scale, 1 - sum * scale];
    }
    let b = x + 1 - a, c = 1 / TINY, d = 1 / b, h = d;
    for (let n = 1; n < MAX_TERMS; n++) {
      const an = -n * (n - a);
      b += 2;
      d = an * d + b;
      if (Math.abs(d) < TINY) d = TINY;
      c = b + an / c;
      if (Math.abs(c) < TINY) c = TINY;
      d = 1 / d;
      h *= d * c;
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return [1 - scale * h, scale * h];
  }

  // x with P(a, x) = level: Newton's steps on log x, kept inside a bracket that only shrinks.
  function gammaQuantile(a, level) {
    if (!(a > 0) || !(level >= 0 && level <= 1)) return NaN;
    if (level === 0) return 0;
    if (level === 1) return Infinity;
    let low = 0, high = Math.max(1, a);
    while (gammaTails(a, high)[0] < level) high *= 2;
    const log = logGamma(a);
    // Wilson and Hilferty's cube, or the power that the left tail follows.
    const z = normalQuantile(level), cube = a * Math.pow(1 - 1 / (9 * a) + z / (3 * Math.sqrt(a)), 3);
    let x = cube > 0.05 * a ? cube : Math.exp((Math.log(level) + logGamma(a + 1)) / a);
    if (!(x > low && x < high)) x = high / 2;
    for (let step = 0; step < 200; step++) {
      const [below, above] = gammaTails(a, x);
      const miss = level < 0.5 ? below - level : 1 - level - above;
      if (miss > 0) high = x; else low = x;
      const density = Math.exp((a - 1) * Math.log(x) - x - log);
      let next = x * Math.exp(-miss / (density * x));
      if (!(next > low && next < high)) next = (low + high) / 2;
      if (Math.abs(next - x) <= 1e-15 * x) return next;
      x = next;
    }
    return x;
  }

  // A start for gammaQuantile only, good to three digits (Abramowitz and Stegun 26.2.23).
  function normalQuantile(level) {
    const p = Math.min(level, 1 - level), t = Math.sqrt(-2 * Math.log(p));
    const top = 2.515517 + t * (0.802853 + t * 0.010328);
    const z = t - top / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    return level < 0.5 ? -z : z;
  }

  // The regularised incomplete beta function I_x(a, b), by its continued fraction.
  function betaInc(a, b, x) {
    if (!(x > 0)) return x === 0 ? 0 : NaN;
    if (x >= 1) return 1;
    const scale = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
    if (x > (a + 1) / (a + b + 2)) return 1 - scale * betaFraction(b, a, 1 - x) / b;
    return scale * betaFraction(a, b, x) / a;
  }

  function betaFraction(a, b, x) {
    let c = 1, d = 1 - (a + b) * x / (a + 1);
    if (Math.abs(d) < TINY) d = TINY;
    d = 1 / d;
    let h = d;
    for (let m = 1; m < MAX_TERMS; m++) {
      for (const factor of [
        m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
        -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
      ]) {
        d = 1 + factor * d;
        if (Math.abs(d) < TINY) d = TINY;
        c = 1 + factor / c;
        if (Math.abs(c) < TINY) c = TINY;
        d = 1 / d;
        h *= d * c;
      }
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return h;
  }

  // Lambert's W on its upper branch, for arguments from -1/e to 0.
  function lambertW(x) {
    const root = Math.sqrt(Math.max(0, 2 * (Math.E * x + 1)));
    let w = root < 1 ? -1 + root * (1 - root * (1 / 3 - root * 11 / 72)) : Math.log1p(x);
    for (let step = 0; step < 60 && root > 1e-5; step++) {
      const e = Math.exp(w), miss = w * e - x;
      const next = w - miss / (e * (w + 1) - (w + 2) * miss / (2 * w + 2));
      if (Math.abs(next - w) <= 1e-16 * Math.abs(next)) return next;
      w = next;
    }
    return w;
  }

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

  // checkpoint.optimal_minutes.
  function optimalMinutes(perDay, write) {
    if (!(write > 0)) return 0;
    const mean = perDay > 0 ? MINUTES_PER_DAY / perDay : NaN;
    return mean * (1 + lambertW(-Math.exp(-1 - write / mean)));
  }

  function ettrOptimal(perDay, costs) {
    return ettrExact(perDay, Math.max(optimalMinutes(perDay, costs.write), MIN_MINUTES), costs);
  }

  // spares.probability_without_spare.
  function probabilityWithoutSpare(perDay, repairDays, spares) {
    return spares === 0 ? 1 : gammaTails(spares, perDay * repairDays)[0];
  }

  // prediction._quantile: the smallest whole number whose distribution function reaches the level.
  function countQuantile(below, level, ceiling) {
    let least = 0, most = ceiling;
    while (least < most) {
      const middle = Math.floor((least + most) / 2);
      if (below(middle) >= level) most = middle; else least = Math.min(middle + 1, most);
    }
    return least;
  }

  function countLimits(below, mean, variance, level) {
    const tail = (1 - level) / 2, ceiling = Math.ceil(mean + 12 * Math.sqrt(variance) + 30);
    return [countQuantile(below, tail, ceiling), countQuantile(below, 1 - tail, ceiling)];
  }

  // run_plan.predict_interruptions: negative binomial for a rate that was counted, Poisson for one that is assumed.
  function predictInterruptions(rate, nodeDays) {
    if (rate.assumed) {
      const mean = rate.value * nodeDays;
      const [low, high] = countLimits((n) => gammaTails(n + 1, mean)[1], mean, mean, rate.level);
      return { value: mean, low: Math.min(low, Math.floor(mean)), high: Math.max(high, Math.ceil(mean)) };
    }
    const shape = rate.count / rate.dispersion + 0.5;
    const mean = shape * rate.dispersion * nodeDays / rate.exposure;
    const share = shape / (shape + mean);
    const [low, high] = countLimits(
      (n) => betaInc(shape, n + 1, share), mean, mean * (1 + mean / shape), rate.level);
    const value = rate.count > 0 ? rate.count * nodeDays / rate.exposure : NaN;
    const inside = rate.count > 0;
    return {
      value,
      low: inside ? Math.min(low, Math.floor(value)) : low,
      high: inside ? Math.max(high, Math.ceil(value)) : high,
    };
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

  const quantiles = new Map();
  function possibleRates(rate, runs) {
    if (rate.assumed) return new Array(runs).fill(rate.value);
    const shape = rate.count / rate.dispersion + 0.5, key = shape + " " + runs;
    if (!quantiles.has(key)) {
      quantiles.set(key, Array.from({ length: runs }, (_, run) => gammaQuantile(shape, (run + 0.5) / runs)));
    }
    return quantiles.get(key).map((x) => x * rate.dispersion / rate.exposure);
  }

  // target_probability.target_probability.
  function targetProbability(rate, nodes, checkpoint, costs, days, target, runs) {
    if (!(rate.value > 0)) return NaN;
    const [dt, u0, w, q] = [Math.max(checkpoint, MIN_MINUTES), costs.restart, costs.write, costs.queue]
      .map((minutes) => minutes / MINUTES_PER_DAY);
    let reached = 0;
    possibleRates(rate, runs).forEach((perNodeDay, run) => {
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

  // The rate that a choice means: the measured one with its limits, or one that is taken as known.
  function chosenRate(data, choice, own) {
    if (choice === "measured") {
      return {
        value: data.value ?? NaN, low: data.low ?? NaN, high: data.high ?? NaN, count: data.failure_count,
        exposure: data.node_days, dispersion: data.dispersion, level: data.confidence_level, assumed: false,
      };
    }
    const value = choice === "own" ? own / 1000 : data[choice] ?? NaN;
    return { value, low: value, high: value, level: data.confidence_level, assumed: true };
  }

  // Everything the page says, from the positions of its sliders.
  function evaluate(data, input) {
    const rate = chosenRate(data, input.rate, input.own);
    const nodes = Math.ceil(input.gpus / data.gpus_per_node);
    const [value, low, high] = [rate.value, rate.low, rate.high].map((x) => (x > 0 ? x * nodes : NaN));
    const mayBeZero = rate.low === 0;
    const withoutSpare = probabilityWithoutSpare(value, input.repair_hours / 24, input.spares);
    const wait = (perDay) =>
      input.queue * probabilityWithoutSpare(perDay, input.repair_hours / 24, input.spares);
    const costs = (perDay) => ({ restart: input.restart, write: input.write, queue: wait(perDay) });
    const future = rate.assumed && !(rate.value > 0)
      ? { value: NaN, low: NaN, high: NaN } : predictInterruptions(rate, nodes * input.days);
    return {
      nodes,
      mttf_hours: 24 / value,
      mttf_hours_low: 24 / high,
      mttf_hours_high: mayBeZero ? Infinity : 24 / low,
      interruptions: future.value,
      interruptions_low: future.low,
      interruptions_high: future.high,
      best_minutes: optimalMinutes(value, input.write),
      best_minutes_low: optimalMinutes(high, input.write),
      best_minutes_high: mayBeZero ? Infinity : optimalMinutes(low, input.write),
      ettr: ettrExact(value, input.checkpoint, costs(value)),
      ettr_low: ettrExact(high, input.checkpoint, costs(high)),
      ettr_high: mayBeZero ? ettrExact(0, input.checkpoint, costs(0)) : ettrExact(low, input.checkpoint, costs(low)),
      ettr_best: ettrOptimal(value, costs(value)),
      without_spare: withoutSpare,
      probability: targetProbability(
        rate, nodes, input.checkpoint, costs(value), input.days, input.target, data.run_count),
    };
  }

  return { evaluate, ettrExact, chosenRate, probabilityWithoutSpare, logGamma, gammaTails, gammaQuantile, betaInc,
    lambertW, optimalMinutes };
})();

// Times Embree 3 on the boxes and rays of the benchmark `queries` and on the pairs of the benchmark `pairs`, and
// compares its answers with ours.
//
//   embree THREADS RUNS BOXES.npy [pairs PAIRS.npy | KIND RAYS.npy NEAREST.npy]
//
// Boxes are user geometry: Embree builds a tree over their bounds, and calls back for the test of a ray and a box. The
// files are those of the benchmark's `--out`: boxes f4 (n, 6), rays f4 (m, 7) with origin, direction and limit, and u4
// (m,) with our nearest hits. For scripts/embree.sh.
//
// Prints `time|QUESTION|ENGINE|MS`, the median of RUNS calls after one that is not counted: the time of builds without
// rays, otherwise of rays. `equal|QUESTION|ENGINE|...` has the count of rays with our answer, and the reasons for the
// others.
#include <embree3/rtcore.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian");

constexpr float ENDLESS = std::numeric_limits<float>::infinity();

// The index of no box, in our answers and in Embree's.
constexpr uint32_t NONE = RTC_INVALID_GEOMETRY_ID;

// Rays that a thread takes at once: a multiple of all widths of packets.
constexpr size_t PART = 1024;

struct Box {
    std::array<float, 3> min, max;
};

using Pair = std::array<uint32_t, 2>;

struct Ray {
    std::array<float, 3> origin, direction;
    float limit;
};

// Reads the rows of a .npy file that the benchmark wrote.
template <typename Row>
std::vector<Row> read(const std::string& path, const std::string& dtype) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY\x01", 7) != 0) {
        throw std::runtime_error(path + " is no .npy file of version 1");
    }
    const size_t begin = 10 + static_cast<uint8_t>(bytes[8]) + 256 * static_cast<uint8_t>(bytes[9]);
    const std::string header(bytes.data() + 10, std::min(begin, bytes.size()) - 10);
    if (begin > bytes.size() || (bytes.size() - begin) % sizeof(Row) != 0 || header.find(dtype) == std::string::npos) {
        throw std::runtime_error(path + " has other rows than are needed");
    }
    std::vector<Row> rows((bytes.size() - begin) / sizeof(Row));
    std::memcpy(rows.data(), bytes.data() + begin, rows.size() * sizeof(Row));
    return rows;
}

// ---- what Embree calls back ----

// A packet of rays as Embree lays it out, and the context that comes with it to each callback.
template <unsigned N>
struct Packet;

template <>
struct Packet<1> {
    using Hits = RTCRayHit;
    using Rays = RTCRay;
};

template <>
struct Packet<8> {
    using Hits = RTCRayHit8;
    using Rays = RTCRay8;
};

// Directions are inverted once for all boxes.
template <unsigned N>
struct Context : RTCIntersectContext {
    float inverse[3][N];
};

void bounds_of(const RTCBoundsFunctionArguments* of) {
    const auto& [min, max] = static_cast<const Box*>(of->geometryUserPtr)[of->primID];
    *of->bounds_o = {min[0], min[1], min[2], 0.0f, max[0], max[1], max[2], 0.0f};
}

// Returns the least t at which a ray of the packet is in the box, and -1 where it misses it: by slabs in single
// precision, which round.
template <unsigned N>
float enter(const Box& box, RTCRayN* rays, const Context<N>& context, unsigned i) {
    const float origin[] = {RTCRayN_org_x(rays, N, i), RTCRayN_org_y(rays, N, i), RTCRayN_org_z(rays, N, i)};
    float from = 0.0f, to = RTCRayN_tfar(rays, N, i);
    for (int k = 0; k < 3; ++k) {
        const float inverse = context.inverse[k][i];
        const float low = (box.min[k] - origin[k]) * inverse, high = (box.max[k] - origin[k]) * inverse;
        // With the new end second, a NaN of a ray within the plane of a face leaves the old end.
        from = std::max(from, inverse > 0.0f ? low : high);
        to = std::min(to, inverse > 0.0f ? high : low);
    }
    return from <= to ? from : -1.0f;
}

template <unsigned N>
void test_nearest(const RTCIntersectFunctionNArguments* of) {
    const Box& box = static_cast<const Box*>(of->geometryUserPtr)[of->primID];
    const auto& context = *static_cast<const Context<N>*>(of->context);
    RTCRayN* rays = RTCRayHitN_RayN(of->rayhit, N);
    RTCHitN* hits = RTCRayHitN_HitN(of->rayhit, N);
    float t[N];
    for (unsigned i = 0; i < N; ++i) t[i] = enter<N>(box, rays, context, i);
    for (unsigned i = 0; i < N; ++i) {
        // Of hits at one t the lowest index stays, as with ours, as far as Embree asks for them.
        const uint32_t best = RTCHitN_primID(hits, N, i);
        if (!of->valid[i] || t[i] < 0.0f || (t[i] == RTCRayN_tfar(rays, N, i) && best < of->primID)) continue;
        RTCRayN_tfar(rays, N, i) = t[i];
        RTCHitN_primID(hits, N, i) = of->primID;
        RTCHitN_geomID(hits, N, i) = of->geomID;
    }
}

template <unsigned N>
void test_any(const RTCOccludedFunctionNArguments* of) {
    const Box& box = static_cast<const Box*>(of->geometryUserPtr)[of->primID];
    const auto& context = *static_cast<const Context<N>*>(of->context);
    float t[N];
    for (unsigned i = 0; i < N; ++i) t[i] = enter<N>(box, of->ray, context, i);
    for (unsigned i = 0; i < N; ++i) {
        if (of->valid[i] && t[i] >= 0.0f) RTCRayN_tfar(of->ray, N, i) = -ENDLESS;
    }
}

void test_nearest(const RTCIntersectFunctionNArguments* of) {
    of->N == 1 ? test_nearest<1>(of) : test_nearest<8>(of);
}

void test_any(const RTCOccludedFunctionNArguments* of) {
    of->N == 1 ? test_any<1>(of) : test_any<8>(of);
}

// ---- the tree ----

using Device = std::unique_ptr<RTCDeviceTy, decltype(&rtcReleaseDevice)>;

// Embree's tree of some boxes, which is built again in its own memory, as ours is.
class Tree {
public:
    Tree(RTCDevice device, const std::vector<Box>& boxes, RTCBuildQuality quality) : own(rtcNewScene(device)) {
        // The fastest build takes all three: such a scene has two levels, and of the lower one the geometry decides.
        if (quality == RTC_BUILD_QUALITY_LOW) rtcSetSceneFlags(own, RTC_SCENE_FLAG_DYNAMIC);
        rtcSetSceneBuildQuality(own, quality);
        const RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_USER);
        rtcSetGeometryBuildQuality(geometry, quality);
        rtcSetGeometryUserPrimitiveCount(geometry, static_cast<unsigned>(boxes.size()));
        rtcSetGeometryUserData(geometry, const_cast<Box*>(boxes.data()));
        rtcSetGeometryBoundsFunction(geometry, bounds_of, nullptr);
        rtcSetGeometryIntersectFunction(geometry, test_nearest);
        rtcSetGeometryOccludedFunction(geometry, test_any);
        rtcAttachGeometryByID(own, geometry, GEOMETRY);
        rtcReleaseGeometry(geometry);
        build();
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    ~Tree() { rtcReleaseScene(own); }

    void build() {
        rtcCommitGeometry(rtcGetGeometry(own, GEOMETRY));
        rtcCommitScene(own);
    }

    RTCScene scene() const { return own; }

private:
    static constexpr unsigned GEOMETRY = 0;
    RTCScene own;
};

// ---- batches of rays ----

// Calls with the ends of each part of the rays, on all threads.
template <typename Each>
void in_parts(size_t count, int threads, Each each) {
    alignas(64) std::atomic<size_t> next = 0;
    const auto work = [&] {
        for (size_t begin = next.fetch_add(PART); begin < count; begin = next.fetch_add(PART)) {
            each(begin, std::min(begin + PART, count));
        }
    };
    // This thread waits: its stack, which all of them read, would share cache lines with the rays that it writes.
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back(work);
}

// Lays out up to N rays as Embree wants them. `valid` is -1 for each that there is.
template <unsigned N>
void prepare(const Ray* rays, unsigned count, RTCRayN* to, Context<N>& context, int* valid) {
    for (unsigned i = 0; i < N; ++i) {
        valid[i] = i < count ? -1 : 0;
        const auto& [origin, direction, limit] = rays[std::min(i, count - 1)];
        RTCRayN_org_x(to, N, i) = origin[0];
        RTCRayN_org_y(to, N, i) = origin[1];
        RTCRayN_org_z(to, N, i) = origin[2];
        RTCRayN_dir_x(to, N, i) = direction[0];
        RTCRayN_dir_y(to, N, i) = direction[1];
        RTCRayN_dir_z(to, N, i) = direction[2];
        RTCRayN_tnear(to, N, i) = 0.0f;
        RTCRayN_tfar(to, N, i) = limit;
        RTCRayN_time(to, N, i) = 0.0f;
        RTCRayN_mask(to, N, i) = ~0u;
        RTCRayN_flags(to, N, i) = 0;
        for (int k = 0; k < 3; ++k) context.inverse[k][i] = 1.0f / direction[k];
    }
}

template <unsigned N>
void nearest_hits(RTCScene scene, const std::vector<Ray>& rays, int threads, std::vector<uint32_t>& found) {
    in_parts(rays.size(), threads, [&](size_t begin, size_t end) {
        Context<N> context;
        rtcInitIntersectContext(&context);
        alignas(32) int valid[N];
        typename Packet<N>::Hits packet;
        auto* hits = RTCRayHitN_HitN(reinterpret_cast<RTCRayHitN*>(&packet), N);
        for (size_t at = begin; at < end; at += N) {
            const unsigned count = static_cast<unsigned>(std::min<size_t>(N, end - at));
            prepare<N>(&rays[at], count, reinterpret_cast<RTCRayN*>(&packet), context, valid);
            for (unsigned i = 0; i < N; ++i) RTCHitN_geomID(hits, N, i) = RTCHitN_primID(hits, N, i) = NONE;
            if constexpr (N == 1) rtcIntersect1(scene, &context, &packet);
            else rtcIntersect8(valid, scene, &context, &packet);
            for (unsigned i = 0; i < count; ++i) found[at + i] = RTCHitN_primID(hits, N, i);
        }
    });
}

template <unsigned N>
void any_hits(RTCScene scene, const std::vector<Ray>& rays, int threads, std::vector<uint8_t>& found) {
    in_parts(rays.size(), threads, [&](size_t begin, size_t end) {
        Context<N> context;
        rtcInitIntersectContext(&context);
        alignas(32) int valid[N];
        typename Packet<N>::Rays packet;
        auto* lanes = reinterpret_cast<RTCRayN*>(&packet);
        for (size_t at = begin; at < end; at += N) {
            const unsigned count = static_cast<unsigned>(std::min<size_t>(N, end - at));
            prepare<N>(&rays[at], count, lanes, context, valid);
            if constexpr (N == 1) rtcOccluded1(scene, &context, &packet);
            else rtcOccluded8(valid, scene, &context, &packet);
            for (unsigned i = 0; i < count; ++i) found[at + i] = RTCRayN_tfar(lanes, N, i) < 0.0f;
        }
    });
}

// ---- pairs ----

// The pairs that the threads of one search found. A thread has its own list.
class Pairs {
public:
    explicit Pairs(const std::vector<Box>& boxes) : boxes(boxes) {}

    // Finds the pairs of a tree with itself. Embree reports both (a, b) and (b, a) of leaves that may overlap: the
    // callback tests them.
    void find(RTCScene scene) {
        for (auto& list : lists) list->clear();
        rtcCollide(scene, scene, add, this);
    }

    // Copies the pairs of all threads to one list, as ours are.
    const std::vector<Pair>& joined() {
        all.clear();
        for (const auto& list : lists) all.insert(all.end(), list->begin(), list->end());
        return all;
    }

private:
    static void add(void* user, RTCCollision* collisions, unsigned count) {
        auto& self = *static_cast<Pairs*>(user);
        // There is one object of this class in the program.
        thread_local std::vector<Pair>* list = nullptr;
        if (!list) {
            const std::lock_guard lock(self.mutex);
            list = self.lists.emplace_back(std::make_unique<std::vector<Pair>>()).get();
        }
        for (unsigned i = 0; i < count; ++i) {
            const auto [geometry_a, a, geometry_b, b] = collisions[i];
            if (a >= b) continue;
            const Box &first = self.boxes[a], &second = self.boxes[b];
            bool meets = true;
            for (int k = 0; k < 3; ++k) meets &= first.min[k] <= second.max[k] && second.min[k] <= first.max[k];
            if (meets) list->push_back({a, b});
        }
    }

    const std::vector<Box>& boxes;
    std::mutex mutex;
    std::vector<std::unique_ptr<std::vector<Pair>>> lists;
    std::vector<Pair> all;
};

// ---- times and answers ----

template <typename Call>
double median_ms(int runs, Call call) {
    std::vector<double> times;
    for (int run = 0; run <= runs; ++run) {
        const auto start = std::chrono::steady_clock::now();
        call();
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
        if (run > 0) times.push_back(time.count());
    }
    std::sort(times.begin(), times.end());
    return 0.5 * (times[times.size() / 2] + times[(times.size() - 1) / 2]);
}

// Returns the least t at which the ray is in the box, in double precision, and infinity where it misses it.
double entry(const Box& box, const Ray& ray) {
    double from = 0.0, to = ray.limit;
    for (int k = 0; k < 3; ++k) {
        const double origin = ray.origin[k], d = ray.direction[k], low = box.min[k] - origin, high = box.max[k] - origin;
        if (d == 0.0 && (low > 0.0 || high < 0.0)) return ENDLESS;
        if (d == 0.0) continue;
        from = std::max(from, (d > 0.0 ? low : high) / d);
        to = std::min(to, (d > 0.0 ? high : low) / d);
    }
    return from <= to ? from : ENDLESS;
}

void print_time(const std::string& question, const char* engine, double ms) {
    std::printf("time|%s|%s|%.4f\n", question.c_str(), engine, ms);
    std::fflush(stdout);
}

// Rays of a kind, and what ours says of them.
class Asked {
public:
    Asked(int threads, int runs, const std::vector<Box>& boxes, const std::string& kind, const std::string& rays,
          const std::string& nearest)
        : threads(threads), runs(runs), boxes(boxes), kind(kind), rays(read<Ray>(rays, "<f4")),
          ours(read<uint32_t>(nearest, "<u4")) {
        if (this->rays.size() != ours.size()) throw std::runtime_error(nearest + " is not of " + rays);
    }

    // Asks a tree all rays, N at a time.
    template <unsigned N>
    void ask(const Tree& tree, const char* engine) const {
        const std::string nearest = kind + " rays nearest hit", any = kind + " rays any hit";
        std::vector<uint32_t> indices(rays.size());
        print_time(nearest, engine, median_ms(runs, [&] { nearest_hits<N>(tree.scene(), rays, threads, indices); }));
        compare(nearest, engine, indices);
        std::vector<uint8_t> is_hit(rays.size());
        print_time(any, engine, median_ms(runs, [&] { any_hits<N>(tree.scene(), rays, threads, is_hit); }));
        compare(any, engine, is_hit);
    }

private:
    // Counts the rays whose nearest box is ours, and says of the others why it is not.
    void compare(const std::string& question, const char* engine, const std::vector<uint32_t>& theirs) const {
        size_t ties = 0, others = 0, missed = 0, added = 0;
        for (size_t i = 0; i < rays.size(); ++i) {
            if (ours[i] == theirs[i]) continue;
            const bool is_both = ours[i] != NONE && theirs[i] != NONE;
            const bool is_tie = is_both && entry(boxes[ours[i]], rays[i]) == entry(boxes[theirs[i]], rays[i]);
            ++(is_tie ? ties : is_both ? others : ours[i] == NONE ? added : missed);
        }
        print_equal(question, engine, rays.size() - ties - others - missed - added);
        std::printf("another box at the same t: %zu, at another t: %zu, a hit missed: %zu, a hit more: %zu\n", ties, others,
                    missed, added);
    }

    // The same of rays that are asked whether they hit a box.
    void compare(const std::string& question, const char* engine, const std::vector<uint8_t>& theirs) const {
        size_t missed = 0, added = 0;
        for (size_t i = 0; i < rays.size(); ++i) {
            missed += ours[i] != NONE && !theirs[i];
            added += ours[i] == NONE && theirs[i];
        }
        print_equal(question, engine, rays.size() - missed - added);
        std::printf("a hit missed: %zu, a hit more: %zu\n", missed, added);
    }

    // Begins a line that the caller ends.
    void print_equal(const std::string& question, const char* engine, size_t equal) const {
        std::printf("equal|%s|%s|%zu of %zu; ", question.c_str(), engine, equal, rays.size());
    }

    int threads, runs;
    const std::vector<Box>& boxes;
    std::string kind;
    std::vector<Ray> rays;
    std::vector<uint32_t> ours;
};

// Times a build and the pairs of its tree, and compares the pairs with ours, which are in canonical order.
void ask_pairs(Tree& tree, Pairs& pairs, int runs, const std::vector<Pair>& ours, const char* engine) {
    print_time("pairs", engine, median_ms(runs, [&] {
        tree.build();
        pairs.find(tree.scene());
        pairs.joined();
    }));
    std::vector<Pair> theirs = pairs.joined();
    std::sort(theirs.begin(), theirs.end());
    const auto unique = std::unique(theirs.begin(), theirs.end());
    const size_t doubled = theirs.end() - unique;
    theirs.erase(unique, theirs.end());
    std::vector<Pair> both;
    std::set_intersection(ours.begin(), ours.end(), theirs.begin(), theirs.end(), std::back_inserter(both));
    std::printf("equal|pairs|%s|%zu of %zu; missing: %zu, extra: %zu, doubled: %zu\n", engine, both.size(), ours.size(),
                ours.size() - both.size(), theirs.size() - both.size(), doubled);
}

}  // namespace

int main(int count, char** arguments) try {
    const bool has_pairs = count == 6 && std::string(arguments[4]) == "pairs";
    if (count != 4 && count != 7 && !has_pairs) {
        std::fprintf(stderr, "embree THREADS RUNS BOXES.npy [pairs PAIRS.npy | KIND RAYS.npy NEAREST.npy]\n");
        return 2;
    }
    const int threads = std::stoi(arguments[1]), runs = std::stoi(arguments[2]);
    const auto boxes = read<Box>(arguments[3], "<f4");
    const Device device(rtcNewDevice(("threads=" + std::to_string(threads)).c_str()), rtcReleaseDevice);
    if (!device) throw std::runtime_error("Embree does not start");
    Tree low(device.get(), boxes, RTC_BUILD_QUALITY_LOW), medium(device.get(), boxes, RTC_BUILD_QUALITY_MEDIUM);
    if (has_pairs) {
        const auto ours = read<Pair>(arguments[5], "<u4");
        Pairs pairs(boxes);
        ask_pairs(low, pairs, runs, ours, "low");
        ask_pairs(medium, pairs, runs, ours, "medium");
    } else if (count == 4) {
        print_time("build", "low", median_ms(runs, [&] { low.build(); }));
        print_time("build", "medium", median_ms(runs, [&] { medium.build(); }));
    } else {
        const Asked asked(threads, runs, boxes, arguments[4], arguments[5], arguments[6]);
        asked.ask<1>(low, "low");
        asked.ask<1>(medium, "medium");
        asked.ask<8>(medium, "packets");
    }
    if (rtcGetDeviceError(device.get()) != RTC_ERROR_NONE) throw std::runtime_error("Embree reports an error");
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}

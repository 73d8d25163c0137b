/* FMI 2.0 */
typedef const char *Text;
typedef void (*Log)(void *, Text, int, Text, Text, ...);
typedef struct {
    Log logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;
typedef struct {
    int states_need_update, terminate, nominals_changed, values_changed, next_defined;
    double next_time;
} EventInfo;

static void report(const Model *m, int status, const char *text)
{
    Log log;
    memcpy(&log, &m->log, sizeof log);
    if (log)
        log(m->environment, "$prefix", status, "logStatusError", text);
}

EXPORT Text fmi2GetTypesPlatform(void) { return "default"; }
EXPORT Text fmi2GetVersion(void) { return "2.0"; }
EXPORT int fmi2SetDebugLogging(void *m, int on, size_t n, const Text *names)
{
    (void)m, (void)on, (void)n, (void)names;
    return FMI_OK;
}
EXPORT void *fmi2Instantiate(Text name, int type, Text token, Text place,
                             const Callbacks *callbacks, int visible, int logging)
{
    void *log = NULL;
    (void)name, (void)place, (void)visible, (void)logging;
    if (callbacks)
        memcpy(&log, &callbacks->logger, sizeof log);
    return type == 0 ? instantiate(token, callbacks ? callbacks->environment : NULL, log) : NULL;
}
EXPORT void fmi2FreeInstance(void *m) { free(m); }
EXPORT int fmi2SetupExperiment(void *m, int limited, double tolerance, double start, int ends,
                               double stop)
{
    (void)limited, (void)tolerance, (void)ends, (void)stop;
    ((Model *)m)->time = start;
    return FMI_OK;
}
#define NOTHING(name) EXPORT int name(void *m) { (void)m; return FMI_OK; }
NOTHING(fmi2EnterInitializationMode)
NOTHING(fmi2ExitInitializationMode)
NOTHING(fmi2Terminate)
NOTHING(fmi2EnterEventMode)
NOTHING(fmi2EnterContinuousTimeMode)
EXPORT int fmi2Reset(void *m) { reset(m); return FMI_OK; }
EXPORT int fmi2GetReal(void *m, const uint32_t *r, size_t n, double *v) { return get(m, r, n, v); }
EXPORT int fmi2SetReal(void *m, const uint32_t *r, size_t n, const double *v)
{
    return set(m, r, n, v);
}
#define ABSENT(kind, type) \
    EXPORT int fmi2Get##kind(void *m, const uint32_t *r, size_t n, type *v) \
    { (void)m, (void)r, (void)v; return n ? FMI_ERROR : FMI_OK; } \
    EXPORT int fmi2Set##kind(void *m, const uint32_t *r, size_t n, const type *v) \
    { (void)m, (void)r, (void)v; return n ? FMI_ERROR : FMI_OK; }
ABSENT(Integer, int)
ABSENT(Boolean, int)
ABSENT(String, Text)
EXPORT int fmi2GetFMUstate(void *m, void **state) { return keep_state(m, state); }
EXPORT int fmi2SetFMUstate(void *m, void *state) { return copy_state(m, state); }
EXPORT int fmi2FreeFMUstate(void *m, void **state) { (void)m; return drop_state(state); }
EXPORT int fmi2SerializedFMUstateSize(void *m, void *state, size_t *size)
{
    (void)m, (void)state;
    *size = sizeof(Model);
    return FMI_OK;
}
EXPORT int fmi2SerializeFMUstate(void *m, void *state, char *bytes, size_t size)
{
    (void)m;
    if (size < sizeof(Model))
        return FMI_ERROR;
    memcpy(bytes, state, sizeof(Model));
    return FMI_OK;
}
EXPORT int fmi2DeSerializeFMUstate(void *m, const char *bytes, size_t size, void **state)
{
    (void)m;
    if (size != sizeof(Model) || !(*state = malloc(sizeof(Model))))
        return FMI_ERROR;
    memcpy(*state, bytes, sizeof(Model));
    return FMI_OK;
}
EXPORT int fmi2GetDirectionalDerivative(void *m, const uint32_t *unknowns, size_t many,
                                        const uint32_t *knowns, size_t count, const double *seed,
                                        double *result)
{
    return directional(m, unknowns, many, knowns, count, seed, result);
}
EXPORT int fmi2NewDiscreteStates(void *m, EventInfo *info)
{
    (void)m;
    memset(info, 0, sizeof *info);
    return FMI_OK;
}
EXPORT int fmi2CompletedIntegratorStep(void *m, int no_return, int *enter, int *terminate)
{
    (void)m, (void)no_return;
    *enter = *terminate = 0;
    return FMI_OK;
}
EXPORT int fmi2SetTime(void *m, double time) { ((Model *)m)->time = time; return FMI_OK; }
EXPORT int fmi2SetContinuousStates(void *m, const double *x, size_t n)
{
    if (n != 2 * N)
        return FMI_ERROR;
    memcpy(((Model *)m)->x, x, sizeof(double) * 2 * N);
    return FMI_OK;
}
EXPORT int fmi2GetContinuousStates(void *m, double *x, size_t n)
{
    if (n != 2 * N)
        return FMI_ERROR;
    memcpy(x, ((Model *)m)->x, sizeof(double) * 2 * N);
    return FMI_OK;
}
EXPORT int fmi2GetDerivatives(void *m, double *rates, size_t n)
{
    return n == 2 * N ? derivatives(m, rates) : FMI_ERROR;
}
EXPORT int fmi2GetEventIndicators(void *m, double *values, size_t n)
{
    (void)m, (void)values, (void)n;
    return FMI_OK;
}
EXPORT int fmi2GetNominalsOfContinuousStates(void *m, double *x, size_t n)
{
    (void)m;
    ones(x, n);
    return FMI_OK;
}

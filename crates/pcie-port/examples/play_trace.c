/* Plays a trace of DMA on a simulated host: `play_trace SYSTEM.json TRACE` prints for each TLP when it had a tag
 * and credits, and when it was done, in picoseconds. The times are simulated. Valid C99 and C++. */
#include "pcielab.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000000
static uint64_t started[MOST], done[MOST];
static size_t by_tag[1 << 14]; /* The TLP that holds a tag. */
static char json[1 << 20];

static void check(int code, const char *what) {
    if (code >= 0) return;
    fprintf(stderr, "%s: %s\n", what, pcielab_code_text(code));
    exit(1);
}

/* Waits for the next events, and returns the time of the last one, or `now` if that is later. */
static uint64_t pass_time(pcielab_port *port, uint64_t now) {
    pcielab_event event;
    check(pcielab_port_advance(port, pcielab_port_next(port)), "advance");
    while (pcielab_port_take(port, &event) == PCIELAB_CODE_DONE) {
        if (event.kind == PCIELAB_EVENT_KIND_COMPLETION) done[by_tag[event.tag]] = event.at_ps;
        if (event.at_ps > now) now = event.at_ps;
    }
    return now;
}

int main(int count, char **arguments) {
    char text[512] = "", line[256], kind[8];
    FILE *system = count == 3 ? fopen(arguments[1], "rb") : NULL;
    FILE *trace = count == 3 ? fopen(arguments[2], "r") : NULL;
    pcielab_port *port = NULL;
    pcielab_limits limits;
    pcielab_tlp tlp = {0, 0, 0, 0};
    pcielab_sent sent;
    uint64_t now = 0, ready, offset;
    size_t number = 0;
    if (!system || !trace) return fprintf(stderr, "usage: play_trace SYSTEM.json TRACE\n"), 1;
    int made = pcielab_port_create(json, fread(json, 1, sizeof json, system), NULL, &port, text, sizeof text);
    check(made, text);
    check(pcielab_port_limits(port, &limits), "limits");
    while (number < MOST && fgets(line, sizeof line, trace)) {
        if (sscanf(line, "%" SCNu64 " %7s %" SCNu64 " %" SCNu32, &ready, kind, &offset, &tlp.length) != 4) continue;
        tlp.kind = strcmp(kind, "write") ? PCIELAB_KIND_READ : PCIELAB_KIND_WRITE;
        check(pcielab_port_address(port, offset, &tlp.address), line);
        now = ready > now ? ready : now;
        for (tlp.tag = 0; !pcielab_port_has_room(port, &tlp); tlp.tag = (tlp.tag + 1) % limits.tags)
            if (tlp.tag == limits.tags - 1) now = pass_time(port, now); /* No tag or no credits. */
        check(pcielab_port_submit(port, &tlp, now, &sent), line);
        if (tlp.kind == PCIELAB_KIND_READ) by_tag[tlp.tag] = number;
        started[number] = now;
        done[number++] = sent.arrived_ps; /* Of a write; a read is done with its last completion. */
    }
    while (pcielab_port_next(port) != UINT64_MAX) pass_time(port, now);
    for (size_t i = 0; i < number; i++) printf("%zu %" PRIu64 " %" PRIu64 "\n", i, started[i], done[i]);
    pcielab_port_free(port);
    return 0;
}

/* Reads per second of processor time of a host behind the C interface: `port_reads SYSTEM.json [READS]`, by `make port-speed`.
 *
 * As many reads of 64 bytes are in flight as the system's device has tags; each sends the next one. */
#define _POSIX_C_SOURCE 199309L
#include "pcielab.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static char json[1 << 20];

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int count, char **arguments) {
    FILE *system = count > 1 ? fopen(arguments[1], "rb") : NULL;
    uint64_t asked = count > 2 ? strtoull(arguments[2], NULL, 10) : 1000000, sent = 0, done = 0, base = 0;
    char text[512] = "no such file";
    pcielab_port *port = NULL;
    pcielab_limits limits;
    pcielab_event event;
    if (!system || pcielab_port_create(json, fread(json, 1, sizeof json, system), NULL, &port, text, sizeof text)) {
        fprintf(stderr, "port_reads: %s\n", text);
        return 1;
    }
    pcielab_port_limits(port, &limits);
    pcielab_port_address(port, 0, &base);
    double start = seconds();
    for (uint32_t tag = 0; tag < limits.tags && sent < asked; tag++, sent++) {
        pcielab_tlp tlp = {base + sent % 512 * 64, 64, (uint16_t)tag, PCIELAB_KIND_READ};
        if (pcielab_port_submit(port, &tlp, 0, NULL)) return 1;
    }
    while (done < asked) {
        pcielab_port_advance(port, pcielab_port_next(port));
        while (pcielab_port_take(port, &event) == PCIELAB_CODE_DONE) {
            if (event.kind != PCIELAB_EVENT_KIND_COMPLETION || !event.last) continue;
            done++;
            if (sent == asked) continue;
            pcielab_tlp tlp = {base + sent++ % 512 * 64, 64, event.tag, PCIELAB_KIND_READ};
            if (pcielab_port_submit(port, &tlp, event.at_ps, NULL)) return 1;
        }
    }
    double elapsed = seconds() - start;
    printf("%" PRIu64 " reads in %.3f s: %.2f M/s\n", done, elapsed, (double)done / elapsed / 1e6);
    pcielab_port_free(port);
    return 0;
}

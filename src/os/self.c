/* self.c: what a thread is to the layers that know no contexts.
 *
 * what      The four words; see self.h.
 * owner     The thread.
 * not here  Anything else.
 */
#include "os/self.h"

__thread struct hak_self hak_self;
